"""Takes the stacks of the processes of a task on this node, with py-spy."""
