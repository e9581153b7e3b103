"""Keeping what looks like a secret out of what is sent and shown: passwords, tokens, keys.

A secret is known by its own shape (``ghp_…``) or by the name that stands before it (``password=``). What
merely is random stays: hashes, checksums, UUIDs and ids of jobs tell where to look. Every expression is
linear in the text: a repetition is bounded, or ends where the next match could begin.
"""

from __future__ import annotations

import re

from jobmon_core.domain.webhook import mask_webhooks

HIDDEN = "[hidden]"

# each issuer's own mark, then what only chance could write
_SHAPED = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|(gh[pousr]_|github_pat_)\w{20,255}"
    r"|(gl(?:pat|ptt|dt|rt|soat|cbt|imt|agent|ft|ffct)-)[\w-]{20,255}"  # GitLab
    r"|(hf_|api_org_)[A-Za-z0-9]{30,100}(?![A-Za-z0-9])"  # Hugging Face
    r"|(sk-(?:proj-|ant-|svcacct-|admin-|or-)?)(?=[A-Za-z_-]{0,40}[0-9])[\w-]{20,255}"  # OpenAI, Anthropic
    r"|(xox[a-z](?:\.xox[a-z])?-|xapp-)[\w.-]{10,255}"  # Slack
    r"|(AIza|ya29\.|GOCSPX-)[\w-]{20,255}"  # Google
    r"|([sr]k_(?:live|test)_|npm_|pypi-|gsk_|r8_|do[opr]_v1_|dapi)(?=[A-Za-z_-]{0,40}[0-9])[\w-]{28,255}"
    r"|(nvapi-|wandb_v[0-9]_|SG\.)(?=[A-Za-z_-]{0,40}[0-9])[\w.-]{30,255}"
    r"|(?<![\w-])(eyJ)[\w-]{8,4096}\.eyJ[\w-]{8,4096}\.[\w-]{0,4096}"  # JSON web tokens
    r"|([MNO])(?=[A-Za-z_-]{0,20}[0-9])[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"  # Discord's bots
    r"|([0-9]{8,10}:)AA[\w-]{33}(?![\w-])"  # Telegram's bots
    r")",
    re.ASCII,
)
_SLACK_HOOK = re.compile(r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[\w/-]+", re.IGNORECASE)
_IN_URL = re.compile(r"(://[^\s/:@?#'\"]*:)[^\s/?#'\"<>]+(?=@)")
_IN_QUERY = re.compile(
    r"([?&](?:sig|signature|key|code|x-(?:amz|goog)-(?:signature|credential|security-token))=)"
    r"[^\s&#'\"<>]{8,}",
    re.IGNORECASE,
)
_IN_HEADER = re.compile(
    r"(\bauthorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
    r"(?:(?:bearer|basic|token|digest|apikey)[ \t]{1,4})?)[^\s\"'\\]+"
    r"|(\b(?:set-)?cookie:[ \t]{1,4})[^\n\"']+",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(\bbearer[ \t]{1,4})(?=[A-Za-z_.~+/-]{0,60}[0-9])[\w.~+/-]{16,}=*", re.IGNORECASE)
_KEY_BLOCK = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"((?:(?!-----)[\s\S])*(?=-----END)"  # else it was cut: what looks like a part of it
    r"|(?:\n[A-Za-z-]{1,40}: [^\n]*)*(?:\s{1,8}[A-Za-z0-9+/=\\]{16,}(?!\S))*)"
)

# what parts a name from its value, also in JSON and in JSON within JSON
_PARTED = r"(?P<parted>\\?[\"']?[ \t]{0,4}(?::=|=>|=|:)[ \t]{0,4}[bru]?)(?P<quote>\\?[\"'])?"
_PASSWORD = re.compile(
    rf"(?P<name>passw(?:or)?d|passphrase|(?<![A-Za-z])pwd){_PARTED}"
    r"(?P<value>(?(quote)(?:(?!(?P=quote)).)+|[^\s\"']+))"
    r"|(?P<option>--(?:[a-z]{1,20}-){0,3}pass(?:word|wd|phrase)[ \t]{1,4}|\blogin \S{1,80} password "
    r"|\bsshpass -p ?)(?P<given>[^\s\"'-][^\s\"']*)",
    re.IGNORECASE,
)
_RANDOM = r"(?=[A-Za-z_./+~%-]{0,80}[0-9])(?=[0-9_./+~%-]{0,80}[A-Za-z])[\w./+~%-]{8,}=*"
_KEYED = re.compile(
    r"(?P<name>token|secret|credentials?"
    r"|(?:api|access|secret|private|account|auth|signing|encryption|master)[_-]?key)"
    rf"{_PARTED}(?P<value>{_RANDOM})"
    r"|(?P<option>--(?:[a-z]{1,20}-){0,3}(?:token|secret|key)[ \t]{1,4}|\bwandb login |\.login\(key=[\"'])"
    rf"(?P<given>{_RANDOM})",
    re.IGNORECASE | re.ASCII,
)

# no password, but what code and documentation write where one would stand
_PLACEHOLDER = re.compile(
    r"(?:none|null|nil|true|false|str|bytes|string|any|optional\b.*|secretstr|undefined|empty|unset"
    r"|\*+|\.+|<[^>]*>|\[hidden\]|\$\{?\w+\}?|%\(?\w*\)?s?|\{[^}]*\}+"
    r"|[\w.]*(?:getpass|environ|getenv|get|input)[(\[].*|(?:self|args|opts|options|config|cfg|settings)\..*"
    r"|\w*(?:password|passwd|passphrase|pwd|secret|token|key))[,;.:)}\]]*",
    re.IGNORECASE,
)
_PATH = re.compile(  # but 40 letters may be a key of AWS
    r"[/~.](?![\w/+]{39}$)|[A-Za-z]:\\|.*\.(?:json|ya?ml|toml|ini|txt|pem|key|py|pt|npy|npz|parquet|bin)$"
)
_SHORTEST_TOKEN = 16  # many a short word is called a token


def redacted(text: str) -> str:
    """Return ``text`` with what looks like a secret replaced by ``HIDDEN``; its lines stay as many."""
    text = _KEY_BLOCK.sub(_without_body, mask_webhooks(text))
    for expression in (_SHAPED, _SLACK_HOOK, _IN_URL, _IN_QUERY, _IN_HEADER, _BEARER):
        text = expression.sub(_after_mark, text)
    return _KEYED.sub(_keyed, _PASSWORD.sub(_password, text))


def redacted_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return lines of one text as ``redacted`` does, which knows a key that goes over several of them."""
    return tuple(redacted("\n".join(line.replace("\n", " ") for line in lines)).split("\n")) if lines else ()


def _after_mark(found: re.Match[str]) -> str:
    """Keep what tells the kind of a secret: the one group that matched."""
    return f"{found[found.lastindex or 0]}{HIDDEN}"


def _without_body(found: re.Match[str]) -> str:
    body = "\n".join(HIDDEN if line.strip() else line for line in found[2].split("\n"))
    return found[1] + body


def _password(found: re.Match[str]) -> str:
    value = found["value"] or found["given"]
    is_folder = found["name"] and found["name"].lower() == "pwd" and _PATH.match(value)
    return found[0] if is_folder or _PLACEHOLDER.fullmatch(value) else _hidden(found)


def _keyed(found: re.Match[str]) -> str:
    value = found["value"] or found["given"]
    is_word = (found["name"] or "").lower() == "token" and len(value) < _SHORTEST_TOKEN
    return found[0] if is_word or _PATH.match(value) else _hidden(found)


def _hidden(found: re.Match[str]) -> str:
    if found["option"]:
        return found["option"] + HIDDEN
    return f"{found['name']}{found['parted']}{found['quote'] or ''}{HIDDEN}"
