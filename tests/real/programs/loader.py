"""Wait forever for a thread that has failed."""

import threading

loaded = threading.Event()


def load() -> None:
    raise ValueError("shard 7 is empty")


threading.Thread(target=load, name="loader").start()
loaded.wait()
