"""What the source of a Python program shows: its imports, the variables that it needs, whether it saves."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

_SAVES = re.compile(
    r"torch\.save|save_checkpoint|save_pretrained|ModelCheckpoint|save_state|save_weights|checkpoint|ckpt|"
    r"joblib\.dump|pickle\.dump|np\.save|\.to_csv|\bTrainer\(",
    re.IGNORECASE,
)
# a call, not a word: an option --resume that nobody gives resumes nothing
_RESUMES = re.compile(
    r"(?<!def )\b(?:load_checkpoint|get_last_checkpoint|latest_checkpoint|restore_checkpoint)\(|"
    r"resume_from_checkpoint\s*=\s*True|ckpt_path\s*=\s*['\"]last|JOBMON_RESUME_FROM"
)
_NO_REQUEUE = re.compile(r"auto_requeue\s*=\s*False")
_SAVING_CALLS = ("torch.save", "np.save", "np.savez", "numpy.save", "joblib.dump", "model.save_weights")
_RENAMES = re.compile(r"os\.(?:replace|rename)\(|shutil\.move\(|\.rename\(")
_HANDLES_SIGNALS = re.compile(
    r"signal\.(?:signal|sigaction|SIG)|SLURMEnvironment|submitit|\bpl\.Trainer|lightning"
)
_MANY_GPUS = re.compile(
    r"DataParallel|device_count|device_map|Trainer|tensor_parallel|spawn|\bray\b|\bjax\b|MirroredStrategy|devices\s*=|"
    r"accelerat|vllm|deepspeed|multiprocess|CUDA_VISIBLE_DEVICES|num_gpus|gpu_id|horovod|subprocess|torch\.distributed|"
    r"cuda:\d|\.cuda\(\d|init_process_group|concurrent|tensorflow|fsdp|lightning",
    re.IGNORECASE,
)
_VISIBLE_DEVICES = re.compile(r"CUDA_VISIBLE_DEVICES['\"]\]\s*=\s*['\"]([\d,]+)['\"]")
_FLUSHES = re.compile(r"flush\s*=\s*True|\.flush\(|line_buffering|PYTHONUNBUFFERED|functools\.partial\(print")
_MAKES_FOLDERS = re.compile(
    r"makedirs|\.mkdir\(|Trainer|save_pretrained|TensorBoard|SummaryWriter|hydra|lightning"
)
_OPTIONAL = (ast.Try, ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With)


@dataclass(frozen=True, slots=True)
class PythonSource:
    """What the source of a program shows."""

    imports: tuple[str, ...] = ()  # top-level names, unconditional
    required_variables: tuple[str, ...] = ()  # read as os.environ["NAME"] at each start
    saves: bool = False
    resumes: bool = False
    requeues: bool = True  # whether its framework may submit the job again
    overwrites: int | None = None  # the line of a save in a loop to one file
    handles_signals: bool = False
    may_use_many_gpus: bool = False
    visible_devices: str = ""  # that it chooses, e.g. "0,1"
    prints: bool = False
    flushes: bool = False
    makes_folders: bool = False
    changes_path: bool = False  # sys.path
    fault: str = ""  # with its line


def read_source(text: str) -> PythonSource:
    """Never raises: a syntax error is its ``fault``."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about its strings: Python will show them itself
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        return PythonSource(fault=f"{line}{reason}")
    devices = _VISIBLE_DEVICES.search(text)
    return PythonSource(
        imports=tuple(dict.fromkeys(_imports(tree.body))),
        required_variables=tuple(dict.fromkeys(_required_variables(tree))),
        saves=bool(_SAVES.search(text)),
        resumes=bool(_RESUMES.search(text)),
        requeues=not _NO_REQUEUE.search(text),
        overwrites=None if _RENAMES.search(text) else _overwriting_save(tree),
        handles_signals=bool(_HANDLES_SIGNALS.search(text)),
        may_use_many_gpus=bool(_MANY_GPUS.search(text)),
        visible_devices=devices[1] if devices else "",
        prints=any(_is_print(node) for node in ast.walk(tree)),
        flushes=bool(_FLUSHES.search(text)),
        makes_folders=bool(_MAKES_FOLDERS.search(text)),
        changes_path="sys.path" in text or "site.addsitedir" in text,
    )


def _overwriting_save(tree: ast.Module) -> int | None:
    """The line of the first save in a loop to a file whose name is a constant."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While))
    calls = (node for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Call))
    for call in calls:
        name = ast.unparse(call.func)
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        texts = [each for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        if name in _SAVING_CALLS and texts:
            return call.lineno
    return None


def _imports(body: list[ast.stmt]) -> list[str]:
    """Unconditional ones."""
    names: list[str] = []
    for node in body:
        if isinstance(node, ast.Import):
            names += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module.partition(".")[0])
    return names


def _required_variables(tree: ast.Module) -> list[str]:
    """Read as ``os.environ["NAME"]`` at module level, outside `if`, `try` and `with`."""
    found: list[str] = []
    for statement in tree.body:
        if isinstance(statement, _OPTIONAL):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_environ(node.value):
                name = node.slice
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    found.append(name.value)
    return found


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )


def _is_print(node: ast.AST) -> bool:
    """To stdout, and not to a file that it names."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and not any(keyword.arg == "file" for keyword in node.keywords)
    )
