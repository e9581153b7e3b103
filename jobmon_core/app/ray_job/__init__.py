"""One look at a job of a Ray cluster, without a monitor: by HTTP, or through the head pod."""
