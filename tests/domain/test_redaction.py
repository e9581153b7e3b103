from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.redaction import HIDDEN, redacted, redacted_lines, without_private_keys

# built from parts, so that a secret scanner finds nothing in this file
_MIXED = "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8" * 3
_HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

SHAPED = {
    "AWS key id": "AKIA" + "IOSFODNN7EXAMPLE",
    "AWS session key id": "ASIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + _MIXED[:36],
    "GitHub, fine-grained": "github_pat_" + _MIXED[:22] + "_" + _MIXED[:59],
    "GitLab": "glpat-" + _MIXED[:20],
    "Hugging Face": "hf_" + _MIXED[:34],
    "OpenAI": "sk-" + _MIXED[:48],
    "OpenAI, project": "sk-proj-" + _MIXED[:30] + "-" + _MIXED[:20],
    "Anthropic": "sk-ant-api03-" + _MIXED[:40],
    "Slack": "xoxb-" + "123456789012-" + _MIXED[:24],
    "Google": "AIza" + _MIXED[:35],
    "Stripe": "sk_live_" + _MIXED[:30],
    "npm": "npm_" + _MIXED[:36],
    "PyPI": "pypi-" + _MIXED[:60],
    "Groq": "gsk_" + _MIXED[:52],
    "Databricks": "dapi" + _HEX[:32],
    "NVIDIA": "nvapi-" + _MIXED[:64],
    "wandb": "wandb_v1_" + _MIXED[:50],
    "JSON web token": "eyJ" + _MIXED[:20] + ".eyJ" + _MIXED[:40] + "." + _MIXED[:43],
    "Discord bot": "M" + _MIXED[:25] + "." + _MIXED[:6] + "." + _MIXED[:38],
    "Telegram bot": "123456789:AA" + _MIXED[:33],
}


@pytest.mark.parametrize("secret", SHAPED.values(), ids=SHAPED)
def test_a_token_is_recognised_by_its_prefix_in_any_context(secret: str) -> None:
    for text in ("{}", "got '{}'", "x={},", "https://example.org/?a={}&b=1", "[{}]", "a/{}/b", "{}:"):
        shown = redacted(text.format(secret))
        assert secret[-12:] not in shown, shown
        assert HIDDEN in shown


NAMED = [
    "password=hunter2",
    "PASSWORD: hunter2",
    "  db_password = 'hunter2 and more hunter2'",
    '{"password": "hunter2"}',
    r"{\"password\": \"hunter2\", \"x\": 1}",
    "{'passwd': 'hunter2'}",
    "passphrase=hunter2)",
    "mysql --password hunter2 -h db",
    "tool --db-password=hunter2",
    "machine github.com login me password hunter2",
    "sshpass -p hunter2 ssh n1",
    "postgresql://me:hunter2@db.example.org:5432/x",
    "https://me:p@hunter2@example.org",
    "git clone https://oauth2:hunter2@gitlab.example.org/a.git",
    "redis://:hunter2@cache:6379",
    "Authorization: Basic hunter2",
    "'Authorization': 'Bearer hunter2'",
    "curl -H 'authorization: hunter2'",
    "Set-Cookie: session=hunter2; path=/",
    "pwd=hunter2",
    "password=a,hunter2",
    'password="don\'t hunter2"',
    "DB_PASS=hunter2",
    "export SMTP_PASS='hunter2'",
    "db_pass: hunter2",
    "PASS=hunter2 ./run.sh",
    "curl -sS -u me:hunter2 https://example.org",
    "curl --user 'me:hunter2' https://example.org",
    "docker login -u me -p hunter2 registry.example.org",
    "helm registry login example.org -u me -p hunter2",
    "mysql -u me -phunter2 -h db runs",
    "mysqldump -phunter2 runs",
]


@pytest.mark.parametrize("text", NAMED)
def test_a_value_in_the_place_of_a_password_is_hidden(text: str) -> None:
    shown = redacted(text)
    assert "hunter2" not in shown
    assert HIDDEN in shown


KEYED = [
    "HF_TOKEN={}",
    "export WANDB_API_KEY={}",
    "api_key='{}'",
    "routing_key: {}",
    '"apiKey": "{}"',
    r"{{\"access_token\": \"{}\"}}",
    "aws_secret_access_key = {}",
    "client_secret: {}",
    "Bearer {}",
    "tool --api-key {}",
    "wandb login {}",
    "wandb.login(key='{}')",
    "secret: token={}",
    "https://bucket.example.org/x?X-Amz-Signature={}&a=1",
    "https://account.example.org/x?sv=1&sig={}",
    "https://hooks.slack.com/services/T012/B345/{}",
    "https://discord.com/api/webhooks/112233445566778899/{}",
    "git clone https://{}@github.com/me/a.git",
    "https://me.webhook.office.com/webhookb2/{}@a/IncomingWebhook/1/2",
    "curl -fsS https://hc-ping.com/{}/fail",
    "curl -d done ntfy.sh/{}",
    "POST https://ntfy.example.org/{} HTTP/1.1",
    "https://chat.example.org/hooks/{}",
    "https://status.example.org/api/push/{}?status=up",
    "FERNET_KEY={}",
    "export MY_ENCRYPTION_KEY='{}'",
]


def test_a_key_that_a_sentence_announces_is_hidden() -> None:
    for text in ("Paste an API key from your profile and hit enter: {}", "API key (see https://x.org/k): {}"):
        assert redacted(text.format(_HEX[:40])) == text.format(HIDDEN)


def test_the_address_of_a_telegram_bot_is_hidden_as_programs_print_it() -> None:
    path = f"/bot{SHAPED['Telegram bot']}/sendMessage"
    error = f"HTTPSConnectionPool(host='api.telegram.org', port=443): Max retries exceeded with url: {path}"
    assert redacted(error) == error.replace("AA" + _MIXED[:33], HIDDEN)


def test_what_is_not_secret_in_an_address_or_a_command_stays() -> None:
    assert redacted("curl -u me:hunter2 https://x.org") == f"curl -u me:{HIDDEN} https://x.org"
    assert redacted("DB_PASS=hunter2 PORT=1") == f"DB_PASS={HIDDEN} PORT=1"
    assert redacted("curl https://hc-ping.com/1a2b3c/start") == f"curl https://hc-ping.com/{HIDDEN}"


@pytest.mark.parametrize("text", KEYED)
@pytest.mark.parametrize("secret", [_MIXED[:40], _HEX[:40]], ids=["mixed", "hex"])
def test_a_random_value_that_is_named_a_key_is_hidden(text: str, secret: str) -> None:
    assert secret not in redacted(text.format(secret))


def test_an_aws_key_that_begins_like_a_path_is_hidden() -> None:
    secret = "/" + _MIXED[:39]
    assert secret not in redacted(f"aws_secret_access_key = {secret}")


HARMLESS = [
    f"commit {_HEX[:40]}",
    f"HEAD is now at {_HEX[:7]} fix the loader",
    f"sha256: {_HEX}",
    f"checksum mismatch: expected {_HEX}, got {_HEX[::-1]}",
    "md5=d41d8cd98f00b204e9800998ecf8427e",
    "Submitted batch job 8123; array 8123_7, het 8123+1",
    "550e8400-e29b-41d4-a716-446655440000",
    "GPU-8f1d2c3b-4a5e-6789-abcd-ef0123456789 fell off the bus",
    "/scratch/me/runs/2026-01-01/checkpoint-12000/model-00001-of-00004.safetensors",
    "FileNotFoundError: [Errno 2] No such file or directory: '/home/me/.cache/huggingface/token'",
    "HF_TOKEN_PATH=/home/me/.cache/huggingface/token1",
    "PWD=/home/me/project1",
    "max_tokens=4096, pad_token_id: 0, eos_token='<|endoftext|>', token: 128009",
    "Token indices sequence length is longer than the maximum (5210 > 4096)",
    "KeyError: 'password'",
    'raise ValueError(f"bad token {token}")',
    "SyntaxError: unexpected token: }",
    "def connect(host: str, password: str | None = None, api_key: Optional[str] = None) -> None:",
    "login(user, password=password, token=self.token)",
    "password = os.environ['DB_PASSWORD']",
    "password=$DB_PASSWORD",
    "password=********",
    "FATAL: password authentication failed for user me",
    "Permission denied (publickey,password).",
    "loss=0.123 step=45 lr=1e-4",
    "http://n17:8080/path?step=12#top",
    "tcp://n17:29500 timed out",
    "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1275",
    'File "/home/me/sk-learn/module_name_that_is_long/task-with-a-long-name-too.py", line 3',
    "MyVeryLongPackageNameForUs.models.some_really_long_function_name_here",
    "-----BEGIN CERTIFICATE-----",
    "JOBMON bearer of bad news: nothing authenticated-here-at-all",
    "torch==2.4.1+cu121 transformers==4.44.2",
    "the secret of success: patience",
    "PASS: test_loader (3.2 s)",
    "# TOTAL: 12  PASS=11  FAIL=1",
    "forward_pass: 12.5ms backward_pass=31.2ms first_pass=true",
    f"CACHE_KEY={_HEX[:40]} PUBLIC_KEY=ssh1 PRIMARY_KEY=run_12 SORT_KEY=loss1",
    "curl -u me https://example.org",
    "git clone https://me@github.com/me/a.git",
    "git@github.com:me/a.git at ssh://git@example.org/a",
    "mysql -u me -P 3306 runs",
    "docker run -p 8080:80 image",
    "see https://docs.ntfy.sh/publish and https://ntfy.sh/docs/config",
    "File /opt/lib/accelerate/hooks/module_1.py, line 3",
    f"API key accepted; commit {_HEX[:40]}",
    f"resuming from /scratch/me/{_HEX[:12]}/Checkpoints/global_step12000/model_00001.pt",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_random_text_and_text_about_secrets_stays(text: str) -> None:
    assert redacted(text) == text


_BODY = (
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n"
    "C7VJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3S\n"
    "QIDAQAB=="
)


@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "])
def test_only_the_frame_of_a_private_key_stays(kind: str) -> None:
    frame = (f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----")
    lines = ("before", frame[0], *_BODY.split("\n"), frame[1], "after")
    assert redacted_lines(lines) == ("before", frame[0], HIDDEN, HIDDEN, HIDDEN, frame[1], "after")


_PEM = (
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SMo7bHqN9pYJ1DqZ0sHzk2wz7eJ4Jt5mA",
    "QIDAQAB",
)
_BEGIN_RSA, _END_RSA = (f"-----{edge} RSA PRIVATE KEY-----" for edge in ("BEGIN", "END"))


@pytest.mark.parametrize("label", ["", "[rank0]: ", "2026-11-28 12:00:00,123 INFO ", "12: ", "0: [n1:7]> "])
def test_a_private_key_behind_labels_is_hidden_even_if_an_edge_is_missing(label: str) -> None:
    key = [_BEGIN_RSA, *_PEM, _END_RSA]
    for kept in (key, key[1:], key[:-1]):
        shown = without_private_keys(["before", *(label + line for line in kept), "after"])
        assert (shown[0], shown[-1]) == ("before", "after")
        assert not any(line in text for text in shown for line in _PEM)
        assert sum(text == label + HIDDEN for text in shown) == len(_PEM)
        assert not any(line in redacted("\n".join(label + each for each in kept)) for line in _PEM)


def test_other_lines_within_a_private_key_stay() -> None:
    others = (
        f"[rank1]: commit {_HEX[:40]}",
        "[rank1]: epoch 3",
        f"[rank1]: saved /a/b/{_HEX[:30]}/Model_1.pt",
    )
    lines = (_BEGIN_RSA, _PEM[0], others[0], others[1], _PEM[1], others[2], _END_RSA, others[0])
    hidden = (_BEGIN_RSA, HIDDEN, others[0], others[1], HIDDEN, others[2], _END_RSA, others[0])
    assert without_private_keys(lines) == hidden


def test_hashes_and_paths_without_a_private_key_stay() -> None:
    lines = (f"commit {_HEX[:40]}", *_PEM, f"{_HEX}  model.pt")
    assert without_private_keys(lines) == lines
    assert without_private_keys(("-----BEGIN CERTIFICATE-----", *lines)) == (
        "-----BEGIN CERTIFICATE-----",
        *lines,
    )


def test_a_private_key_in_json_is_hidden_too() -> None:
    body = _BODY.replace("\n", r"\n")
    shown = redacted(rf'{{"key": "-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"}}')
    assert not any(part in shown for part in _BODY.split("\n"))


def test_a_truncated_private_key_is_hidden_and_the_text_after_it_stays() -> None:
    head = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A"
    body = "\n".join(_BODY.split("\n")[:2])
    shown = redacted(f"{head}\n\n{body}\nValueError: bad decrypt")
    assert not any(part in shown for part in _BODY.split("\n"))
    assert shown.endswith("\nValueError: bad decrypt")


def test_the_text_that_names_the_kind_of_secret_stays() -> None:
    assert redacted("token ghp_" + _MIXED[:36]) == f"token ghp_{HIDDEN}"
    assert redacted("postgresql://me:hunter2@db/x") == f"postgresql://me:{HIDDEN}@db/x"
    assert redacted('{"password": "hunter2", "port": 5432}') == f'{{"password": "{HIDDEN}", "port": 5432}}'


_MARKS = ["password", "token", "=", ":", " ", "'", '"', "\\", "\n", "://", "@", "-----", "--", "eyJ"]
_FRAMES = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Authorization: "]
_OTHERS = st.lists(st.sampled_from([*NAMED, *_MARKS, *_FRAMES]) | st.text(max_size=10), max_size=12).map(
    "".join
)
_TEXT = st.lists(_OTHERS | st.sampled_from(list(SHAPED.values())), max_size=3).map("".join)


@given(_TEXT)
def test_no_text_loses_or_gains_a_line(text: str) -> None:
    assert redacted(text).count("\n") == text.count("\n")


@given(st.lists(st.text(max_size=40) | _TEXT, max_size=6).map(tuple))
def test_the_number_of_lines_stays_the_same(lines: tuple[str, ...]) -> None:
    assert len(redacted_lines(lines)) == len(lines)


@given(_OTHERS, st.sampled_from(list(SHAPED.values())), _OTHERS)
def test_no_surrounding_text_lets_a_token_through(before: str, secret: str, after: str) -> None:
    assert secret not in redacted(f"{before} {secret} {after}")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="\"'\\"), max_size=60))
def test_any_quoted_password_is_hidden(secret: str) -> None:
    # the prefix and suffix keep the value from looking like code or a placeholder, e.g. ``self.password``
    line = secret.replace("\n", "")
    assert f"Zq7{line}7" not in redacted(f"connect(user='me', password='Zq7{line}7', port=1)")


_BEGIN = "-----BEGIN PRIVATE KEY-----"
HOSTILE = [
    *("1", "a", "A", " ", "\n", "_", ".", "/", "-", "-----", "--", "--a-", "%", "://", "://a:", "://a:b"),
    *("password", "password=", "password='", "token=", "token=a", "secret:", "api_key=\\", "login "),
    *("eyJ-", "eyJaaaaaaaa.", "eyJaaaaaaaa.eyJ", "sk-", "sk-a", "SG.", "hf_", "AKIA", f"M{'A' * 24}1."),
    *(
        "curl ",
        "curl -u a",
        "docker login ",
        "mysql ",
        "api key: ",
        "api key",
        "://ntfy.",
        "://a/hooks/",
        "_KEY=",
    ),
    *("DB_PASS=", "pass=", "PRIVATE KEY\n", "PRIVATE KEY aA1", "PRIVATE KEY ="),
    *("authorization: ", "bearer ", "bearer a", "cookie: ", "webhooks/1/", "?sig="),
    *("-----BEGIN ", _BEGIN, f"{_BEGIN}\n\n", f"{_BEGIN}\na: b", f"{_BEGIN} {'a' * 16}"),
]


_SIZE, _LIMIT_S = 100_000, 20.0  # a regular expression with quadratic time needs minutes, and ours 0.1 s


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_takes_linear_time(piece: str) -> None:
    started_s = time.process_time()
    assert redacted(piece * (_SIZE // len(piece)))
    assert time.process_time() - started_s < _LIMIT_S


@pytest.mark.parametrize("piece", [".", "}", "{a}", "*", "a", "get", "${a"])
def test_a_hostile_password_takes_linear_time(piece: str) -> None:
    started_s = time.process_time()
    assert redacted(f"password={piece * (_SIZE // len(piece))} x")
    assert redacted(f"password={{a{piece * (_SIZE // len(piece))}x")
    assert time.process_time() - started_s < _LIMIT_S
