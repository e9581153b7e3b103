"""The rules, by topic: each is a function from a `Situation` to a `Verdict`, or None."""
