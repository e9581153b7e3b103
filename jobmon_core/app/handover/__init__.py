"""Use case: collect what someone who takes over the jobs needs."""
