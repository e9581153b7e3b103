"""What monitors do for groups of jobs. A monitor without a group loads none of this but the check for one."""
