"""Use cases about jobs of services that name their jobs by text: Ray clusters, hosts reached by ssh."""
