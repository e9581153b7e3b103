"""A web server for one user: how requests are read, who may ask, where it listens.

`http.server` is not used: it loads 4 MB of TLS and e-mail, and its time limit is per read, so that a client
that sends a byte now and then keeps a thread.
"""
