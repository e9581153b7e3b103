"""Why a job has not started, and for how long it waited: values and pure rules."""
