"""Hide passwords, tokens and keys in texts that jobmon sends or shows.

A secret is recognised by its shape (``ghp_…``) or by the name before it (``password=``). Other random
text stays, because it helps to find the problem: hashes, checksums, UUIDs, job ids. Every regular
expression runs in linear time: each repetition is bounded or ends where the next match could begin.
"""

from __future__ import annotations

import re

from jobmon_core.domain.webhook import mask_webhooks

HIDDEN = "[hidden]"

# the issuer's prefix, in a group of its own because it stays visible, then the random part
_BY_SHAPE = re.compile(
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
    r"|([MNO])(?=[A-Za-z_-]{0,20}[0-9])[\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"  # Discord bots
    r"|([0-9]{8,10}:)AA[\w-]{33}(?![\w-])"  # Telegram bots
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
    r"((?:(?!-----)[\s\S])*(?=-----END)"  # else the end was cut off: hide all lines that look like base64
    r"|(?:\n[A-Za-z-]{1,40}: [^\n]*)*(?:\s{1,8}[A-Za-z0-9+/=\\]{16,}(?!\S))*)"
)

# a row of Ray's table of the processes that use most memory, of all users of the node; Ray's own (`ray::eat`)
# stay. Without the head of the table, only what looks like a command is hidden
_PROCESS_TABLE = "PID\tMEM(GB)\tCOMMAND"
_PROCESS = re.compile(r"^((?:\([^()\n]{1,60}\) )?\d{1,9}\t\d{1,6}\.\d\d\t)(?!ray::)[^\n]+", re.MULTILINE)
_COMMAND = re.compile(
    r"^((?:\([^()\n]{1,60}\) )?\d{1,9}\t\d{1,6}\.\d\d\t)(?!ray::)(?=[^\n]{0,400}(?:/| -))[^\n]+", re.MULTILINE
)

# the text between a name and its value, including JSON and JSON inside JSON
_SEPARATOR = r"(?P<separator>\\?[\"']?[ \t]{0,4}(?::=|=>|=|:)[ \t]{0,4}[bru]?)(?P<quote>\\?[\"'])?"
_NAMED_PASSWORD = re.compile(
    rf"(?P<name>passw(?:or)?d|passphrase|(?<![A-Za-z])pwd){_SEPARATOR}"
    r"(?P<value>(?(quote)(?:(?!(?P=quote)).)+|[^\s\"']+))"
    r"|(?P<option>--(?:[a-z]{1,20}-){0,3}pass(?:word|wd|phrase)[ \t]{1,4}|\blogin \S{1,80} password "
    r"|\bsshpass -p ?)(?P<argument>[^\s\"'-][^\s\"']*)",
    re.IGNORECASE,
)
_RANDOM_VALUE = r"(?=[A-Za-z_./+~%-]{0,80}[0-9])(?=[0-9_./+~%-]{0,80}[A-Za-z])[\w./+~%-]{8,}=*"
_NAMED_KEY = re.compile(
    r"(?P<name>token|secret|credentials?"
    r"|(?:api|access|secret|private|account|auth|signing|encryption|master|routing|integration)[_-]?key)"
    rf"{_SEPARATOR}(?P<value>{_RANDOM_VALUE})"
    r"|(?P<option>--(?:[a-z]{1,20}-){0,3}(?:token|secret|key)[ \t]{1,4}|\bwandb login |\.login\(key=[\"'])"
    rf"(?P<argument>{_RANDOM_VALUE})",
    re.IGNORECASE | re.ASCII,
)

# what code and documentation contain in place of a real password
_PLACEHOLDER = re.compile(
    r"(?:none|null|nil|true|false|str|bytes|string|any|optional\b.*|secretstr|undefined|empty|unset"
    r"|\*+|\.|<[^>]*>|\[hidden\]|\$\{?\w+\}?|%\(?\w*\)?s?|\{[^}]*\}"
    r"|[\w.]*(?:getpass|environ|getenv|get|input)[(\[].*|(?:self|args|opts|options|config|cfg|settings)\..*"
    r"|\w*(?:password|passwd|passphrase|pwd|secret|token|key))[,;.:)}\]]*",
    re.IGNORECASE,
)
_PATH = re.compile(  # not a path: 40 characters that may be an AWS key
    r"[/~.](?![\w/+]{39}$)|[A-Za-z]:\\|.*\.(?:json|ya?ml|toml|ini|txt|pem|key|py|pt|npy|npz|parquet|bin)$"
)
_MIN_TOKEN_CHARS = 16  # shorter values after "token" are ordinary words


def redacted(text: str) -> str:
    """Return ``text`` with secrets replaced by ``HIDDEN``; the number of lines stays the same."""
    text = _KEY_BLOCK.sub(_hide_key_block, mask_webhooks(text))
    for expression in (_BY_SHAPE, _SLACK_HOOK, _IN_URL, _IN_QUERY, _IN_HEADER, _BEARER):
        text = expression.sub(_hide_after_prefix, text)
    text = (_PROCESS if _PROCESS_TABLE in text else _COMMAND).sub(_hide_after_prefix, text)
    return _NAMED_KEY.sub(_hide_key, _NAMED_PASSWORD.sub(_hide_password, text))


def redacted_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of one text with secrets replaced, including keys that span several lines."""
    return tuple(redacted("\n".join(line.replace("\n", " ") for line in lines)).split("\n")) if lines else ()


def _hide_after_prefix(match: re.Match[str]) -> str:
    """Keep what stands before the secret: it is the only group that matched."""
    return f"{match[match.lastindex or 0]}{HIDDEN}"


def _hide_key_block(match: re.Match[str]) -> str:
    body = "\n".join(HIDDEN if line.strip() else line for line in match[2].split("\n"))
    return match[1] + body


def _hide_password(match: re.Match[str]) -> str:
    value = match["value"] or match["argument"]
    is_folder = match["name"] and match["name"].lower() == "pwd" and _PATH.match(value)
    return match[0] if is_folder or _PLACEHOLDER.fullmatch(value) else _hide_value(match)


def _hide_key(match: re.Match[str]) -> str:
    value = match["value"] or match["argument"]
    is_word = (match["name"] or "").lower() == "token" and len(value) < _MIN_TOKEN_CHARS
    return match[0] if is_word or _PATH.match(value) else _hide_value(match)


def _hide_value(match: re.Match[str]) -> str:
    if match["option"]:
        return match["option"] + HIDDEN
    return f"{match['name']}{match['separator']}{match['quote'] or ''}{HIDDEN}"
