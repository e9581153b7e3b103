"""The short job that looks at a node, and what it takes from a script."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.programs import programs_of
from jobmon_core.domain.before.batch_script.python_source import PythonSource
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.checks.facts import Facts, PythonFact
from jobmon_core.domain.before.checks.node_report import node_items, read_report
from jobmon_core.domain.before.checks.node_script import NodeScript, node_script
from jobmon_core.domain.finding import Severity


def _script(*lines: str) -> NodeScript:
    text = "\n".join(("#!/bin/bash", *lines, ""))
    return node_script(Facts(read_request(["job.sh"], {}, text), parse_script(text), folder="/work"))


def _runs(line: str) -> bool:
    return f"\n{line} || echo" in _script(line).text


@pytest.mark.parametrize(
    "line",
    [
        "conda activate env",
        "micromamba deactivate",
        "source venv/bin/activate",
        '. "$HOME/venv/bin/activate"',
        "source /opt/conda/bin/activate env",
        "source activate env",
        "source /opt/conda/etc/profile.d/conda.sh",
        'source "$(conda info --base)/etc/profile.d/conda.sh"',
        "source /usr/share/lmod/lmod/init/bash",
        ". /usr/share/Modules/init/sh",
        "source ~/.bashrc",
        "source /etc/profile",
        'eval "$(conda shell.bash hook)"',
        "eval \"$(/opt/conda/bin/conda 'shell.bash' 'hook' 2> /dev/null)\"",
        'eval "$(micromamba shell hook --shell bash)"',
        "module --force purge",
        "module use /opt/modulefiles",
        "ml cuda/12.4",
        'export PATH="$HOME/bin:$PATH"',
        "DATA=${DATA:-/data}",
        "ulimit -c unlimited",
    ],
)
def test_what_only_sets_up_the_environment_is_run_on_the_node(line: str) -> None:
    assert _runs(line)
    assert _script(line).left_out == ()


@pytest.mark.parametrize(
    "line",
    [
        "conda run -n env python train.py --epochs 3",
        "micromamba run -n e python train.py",
        "mamba run -n e ./stage.sh",
        "conda info $(./train.sh)",
        "module save",
        "DATA=$(./stage.sh)",
        "DATA=(`./stage.sh`)",
    ],
)
def test_no_program_of_the_script_is_run_on_the_node(line: str) -> None:
    assert line not in _script(line).text


@pytest.mark.parametrize(
    "line",
    [
        "conda env remove -n old -y",
        "conda install -y numpy",
        "source ./stage.sh --wipe",
        ". ./train_all.sh",
        "source $SETUP",
        "source <(./train.sh)",
        "source venv/bin/activate env --wipe",
        'source "$(./train.sh)/bin/activate"',
        "source ~/.bashrc --wipe",
        'eval "$(./train.sh hook conda)"',
        'eval "$(conda run -n hook python train.py)"',
        'eval "$(conda shell.bash hook; ./train.sh)"',
        'eval "$(conda shell.bash hook)" ./train.sh',
        "module load $(./train.sh)",
        "conda activate `./train.sh`",
        "export A=$(./train.sh)",
        "export A=${B:=$(./train.sh)}",
        "export A=${B:+$(./train.sh)}",
        "export A=${B:?`./train.sh`}",
        "export A=${B:-<(./train.sh)}",
        "export A=${B:-${C:-${D:-${E:-${F:-${G:-$(./train.sh)}}}}}}",
        "export X=1 > out.txt",
        "export X=1 > 1",
    ],
)
def test_a_line_that_could_run_a_program_or_change_a_file_is_left_out_and_named(line: str) -> None:
    script = _script("module load cuda", line)
    assert line not in script.text
    assert script.left_out == (3,)
    items = {item.id: item for item in node_items(_FACTS, script, read_report("@@jobmon node n7\n"))}
    text = "line 3 is not run on the node; what else the script sets up works on n7"
    assert items["node_environment"].text == text


def test_a_line_whose_output_is_only_discarded_is_run_without_its_redirections() -> None:
    script = _script("module load cuda > /dev/null 2>&1")
    assert "\nmodule load cuda || echo" in script.text
    assert script.left_out == ()


def test_a_line_that_uses_a_variable_of_a_line_that_is_left_out_is_left_out_too() -> None:
    script = _script(
        "ROOT=$(./find_root)", "source $ROOT/venv/bin/activate", "export A=$(./b)", "export B=$A"
    )
    assert script.left_out == (3, 4, 5)
    assert "ROOT" not in script.text


def test_a_failure_that_a_line_that_is_left_out_may_explain_is_a_warning() -> None:
    script = _script("source /opt/setup.sh", "source /opt/more.sh", "module load x")
    report = read_report("@@jobmon node n7\n@@jobmon setup 4\n@@jobmon no-python 5\n")
    items = {item.id: item for item in node_items(_FACTS, script, report)}
    for name in ("node_environment", "node_imports"):
        assert items[name].severity is Severity.WARNING
        assert items[name].text.endswith("; lines 2 and 3 are not run on the node, which may be why")


_TEXT = "#!/bin/bash\n"
_FACTS = Facts(read_request(["job.sh"], {}, _TEXT), parse_script(_TEXT))


@pytest.mark.parametrize("image", ["/images/torch.sif", "$(./build_image)"])
def test_the_words_before_a_python_are_used_unless_they_run_a_program(image: str) -> None:
    text = f"#!/bin/bash\napptainer exec {image} python train.py\n"
    script = parse_script(text)
    (program,) = programs_of(script, {})
    facts = Facts(
        read_request(["job.sh"], {}, text), script, python=(PythonFact(program, "", PythonSource()),)
    )
    assert (f"\napptainer exec {image} python - " in node_script(facts).text) is ("$" not in image)


def test_what_a_job_exports_or_says_is_no_argument_of_the_short_job() -> None:
    script = _script("#SBATCH --export=ALL,MY_PIN=hunter2,TEXT='a b'", "#SBATCH --comment=hunter2 -p main")
    assert script.options[0] == "--partition=main"
    assert not [option for option in script.options if "hunter2" in option]
    assert script.text.splitlines()[1] == "#SBATCH '--export=ALL,MY_PIN=hunter2,TEXT=a b'"
    assert "comment" not in script.text
