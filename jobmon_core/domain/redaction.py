"""Hide passwords, tokens and keys in texts that jobmon sends or shows.

A secret is recognised by its shape (``ghp_…``) or by the name before it (``password=``). Other random
text stays, because it helps to find the problem: hashes, checksums, UUIDs, job ids. Every regular
expression runs in linear time: each repetition is bounded or ends where the next match could begin.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from jobmon_core.domain.webhook import mask_webhooks

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    r"|((?:bot)?[0-9]{8,10}:)AA[\w-]{33}(?![\w-])"  # Telegram bots, also in the path of its API
    r")",
    re.ASCII,
)
# what follows the first group is a secret. Each is a form in which programs and users write one
_FORMS = (
    _BY_SHAPE,
    re.compile(  # addresses whose path is the secret
        r"(hooks\.slack\.com/(?:services|workflows|triggers)/"
        r"|\.webhook\.office\.com/webhookb2/|outlook\.office(?:365)?\.com/webhook/"  # Teams
        r"|\bhc-ping\.com/|\bhealthchecks\.io/ping/|/api/push/|\.com/api/v1/heartbeat/"
        r"|(?:(?<![\w.])ntfy\.sh|://ntfy\.[\w.-]{1,100})/(?!(?:docs|app|v1|static|file)\b)"  # a topic
        r"|://[\w.:-]{1,100}/hooks/(?:catch/)?(?=[\w/]{0,40}[0-9]))[\w/@%-]{3,}",
        re.IGNORECASE,
    ),
    re.compile(r"(://[^\s/:@?#'\"]*:)[^\s/?#'\"<>]+(?=@)"),
    re.compile(r"(://)(?=[A-Za-z_-]{0,40}[0-9])(?=[0-9_-]{0,40}[A-Za-z])[\w-]{16,255}(?=@)"),  # a token alone
    re.compile(
        r"([?&](?:sig|signature|key|code|x-(?:amz|goog)-(?:signature|credential|security-token))=)"
        r"[^\s&#'\"<>]{8,}",
        re.IGNORECASE,
    ),
    re.compile(
        r"(\bauthorization\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?"
        r"(?:(?:bearer|basic|token|digest|apikey)[ \t]{1,4})?)[^\s\"'\\]+"
        r"|(\b(?:set-)?cookie:[ \t]{1,4})[^\n\"']+",
        re.IGNORECASE,
    ),
    re.compile(r"(\bbearer[ \t]{1,4})(?=[A-Za-z_.~+/-]{0,60}[0-9])[\w.~+/-]{16,}=*", re.IGNORECASE),
    # in a sentence: Paste an API key from your profile
    re.compile(
        r"(\bAPI[ _-]?key\b[^\n:]{0,80}(?::[^\n:]{0,80}){0,2}:[ \t]{1,4})[0-9a-f]{32,64}\b", re.IGNORECASE
    ),
    # options of programs: curl -u USER:PASSWORD, docker login -p PASSWORD, mysql -pPASSWORD
    re.compile(r"(\bcurl\b[^\n]{0,200}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:)[^\s\"']+"),
    re.compile(
        r"(\b(?:docker|podman|nerdctl|helm|apptainer|singularity)\b[^\n]{0,40} login\b[^\n]{0,200}? -p[ =]?)"
        r"[^\s=]+"
    ),
    re.compile(r"(\b(?:mysql|mariadb)[a-z-]{0,12} (?:[^\n]{0,200}? )?-p)[^\s\"']+"),
)
_KEY_BLOCK = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r"((?:(?!-----)[\s\S])*(?=-----END)"  # else the end was cut off: hide all lines that look like base64
    r"|(?:\n[A-Za-z-]{1,40}: [^\n]*)*(?:\s{1,8}[A-Za-z0-9+/=\\]{16,}(?!\S))*)"
)

PRIVATE_KEY = "PRIVATE KEY"
_KEY_EDGE = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\s*$")
_BASE64 = string.ascii_letters + string.digits + "+/="
_KEY_LINE = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z0-9+/=]{40,}")  # no hash: these have one case
_LAST_KEY_LINE = re.compile(r"(?![A-Z]?[a-z]*$)[A-Za-z0-9+/=]{1,39}")  # no word
_DIGITS = re.compile("[0-9]")  # of a time before each line
_MAX_BETWEEN = 20  # other lines within a key, e.g. of other ranks

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
    rf"(?P<name>passw(?:or)?d|passphrase|(?<![A-Za-z])pwd"
    # DB_PASS, db_pass, PASS= - not the forward pass of a model, nor "PASS: test_1"
    r"|(?<!forward)(?<!backward)(?<!first)(?<!second)(?<!last)(?<!full)(?<=[A-Za-z0-9]_)pass"
    rf"|(?<![A-Za-z_-])pass(?==)){_SEPARATOR}"
    r"(?P<value>(?(quote)(?:(?!(?P=quote)).)+|[^\s\"']+))"
    r"|(?P<option>--(?:[a-z]{1,20}-){0,3}pass(?:word|wd|phrase)[ \t]{1,4}|\blogin \S{1,80} password "
    r"|\bsshpass -p ?)(?P<argument>[^\s\"'-][^\s\"']*)",
    re.IGNORECASE,
)
_RANDOM_VALUE = r"(?=[A-Za-z_./+~%-]{0,80}[0-9])(?=[0-9_./+~%-]{0,80}[A-Za-z])[\w./+~%-]{8,}=*"
_NAMED_KEY = re.compile(
    r"(?P<name>token|secret|credentials?"
    r"|(?:api|access|secret|private|account|auth|signing|encryption|master|routing|integration)[_-]?key"
    # any other key in capitals, as variables are written, but not one that only names a thing
    r"|(?-i:(?<!CACHE)(?<!PUBLIC)(?<!PRIMARY)(?<!SORT)(?<!OBJECT)(?<!GROUP)(?<=[A-Z0-9])_KEY)"
    rf"){_SEPARATOR}(?P<value>{_RANDOM_VALUE})"
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
_RESULT = re.compile(
    r"(?:[\d.,/%]+[a-z]{0,3}|ok|yes|no|done|passed|failed?)\W{0,9}", re.IGNORECASE
)  # of a test
_MIN_TOKEN_CHARS = 16  # shorter values after "token" are ordinary words


def redacted(text: str) -> str:
    """Return ``text`` with secrets replaced by ``HIDDEN``; the number of lines stays the same."""
    text = mask_webhooks(text)
    if PRIVATE_KEY in text:
        text = _KEY_BLOCK.sub(_hide_key_block, "\n".join(without_private_keys(text.split("\n"))))
    for expression in _FORMS:
        text = expression.sub(_hide_after_prefix, text)
    text = (_PROCESS if _PROCESS_TABLE in text else _COMMAND).sub(_hide_after_prefix, text)
    return _NAMED_KEY.sub(_hide_key, _NAMED_PASSWORD.sub(_hide_password, text))


def redacted_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of one text with secrets replaced, including keys that span several lines."""
    return tuple(redacted("\n".join(line.replace("\n", " ") for line in lines)).split("\n")) if lines else ()


def without_private_keys(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a text without the bodies of private keys, whatever stands before each line.

    If the text lacks the first or last line of a key, what looks like its body is hidden. So call it with as
    much of a log as there is, before a few lines are chosen from it.
    """
    shown = list(lines)
    body: dict[int, str] = {}  # by position: a line of what would be the body of a key that ends next
    has_begun, others, label = False, 0, ""
    for number, line in enumerate(lines):
        edge = _KEY_EDGE.search(line)
        before, word = _last_word(line)
        if edge:
            has_begun, others = edge[1] == "BEGIN", 0
            for position, hidden in () if has_begun else body.items():
                shown[position] = hidden
            body = {}
        elif _KEY_LINE.fullmatch(word) or (
            number - 1 in body and _LAST_KEY_LINE.fullmatch(word) and _DIGITS.sub("", before) == label
        ):
            body[number], label = f"{before}{HIDDEN}", _DIGITS.sub("", before)
            if has_begun:
                shown[number] = body[number]
        elif others > _MAX_BETWEEN:
            has_begun, body = False, {}
        else:
            others += 1
    return tuple(shown)


def _last_word(line: str) -> tuple[str, str]:
    """Return what stands before the last word of base64 in a line, and that word; empty if none ends it."""
    line = line.rstrip()
    before = line.rstrip(_BASE64)
    return (before, line[len(before) :]) if not before or before[-1] in " \t:]|>" else (line, "")


def _hide_after_prefix(match: re.Match[str]) -> str:
    """Keep what stands before the secret: it is the only group that matched."""
    return f"{match[match.lastindex or 0]}{HIDDEN}"


def _hide_key_block(match: re.Match[str]) -> str:
    *lines, last = match[2].split("\n")
    is_label = lines and match.string.startswith("-----END", match.end())
    hidden = [HIDDEN if line.strip() and HIDDEN not in line else line for line in (*lines, last)]
    return match[1] + "\n".join([*hidden[:-1], last if is_label else hidden[-1]])


def _hide_password(match: re.Match[str]) -> str:
    name, value = (match["name"] or "").lower(), match["value"] or match["argument"]
    is_other = (name == "pwd" and _PATH.match(value)) or (name == "pass" and _RESULT.fullmatch(value))
    return match[0] if is_other or _PLACEHOLDER.fullmatch(value) else _hide_value(match)


def _hide_key(match: re.Match[str]) -> str:
    value = match["value"] or match["argument"]
    is_word = (match["name"] or "").lower() == "token" and len(value) < _MIN_TOKEN_CHARS
    return match[0] if is_word or _PATH.match(value) else _hide_value(match)


def _hide_value(match: re.Match[str]) -> str:
    if match["option"]:
        return match["option"] + HIDDEN
    return f"{match['name']}{match['separator']}{match['quote'] or ''}{HIDDEN}"
