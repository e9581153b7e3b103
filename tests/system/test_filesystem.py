from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.system.filesystem import Filesystem, LockScope, filesystem_at
from tests.support.disk import small_disk

# as proc(5), nfs(5) and mount.lustre(8) describe it
MOUNTINFO = r"""
21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
22 21 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
40 21 0:35 / /home rw,relatime shared:20 - nfs4 fs:/home rw,vers=4.2,hard,local_lock=none,addr=192.0.2.1
41 21 0:36 / /old rw,relatime shared:21 - nfs fs:/old rw,vers=3,nolock,local_lock=all,addr=192.0.2.1
42 21 0:37 / /scratch rw,relatime - lustre 192.0.2.2@tcp:/scratch rw,flock,lazystatfs
43 21 0:38 / /fast rw,relatime - lustre 192.0.2.2@tcp:/fast rw,localflock,lazystatfs
44 21 0:39 / /bare rw,relatime - lustre 192.0.2.2@tcp:/bare rw,lazystatfs
45 21 0:40 / /with\040blank rw,relatime - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf
46 21 0:41 / /gpfs rw,relatime - gpfs fs1 rw
47 21 0:42 / /mine rw,nosuid,nodev - fuse.sshfs me@far: rw,user_id=1000
48 21 0:43 / /share rw,relatime - cifs //fs/share rw,nobrl
49 40 0:44 / /home/tmp rw,relatime - tmpfs tmpfs rw
50 21 254:2 / /gpfs rw,relatime - xfs /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind", "reach"),
    [
        ("/var/me", "ext4", LockScope.DISK),
        ("/home/me/.local", "nfs4", LockScope.HOSTS),
        ("/home", "nfs4", LockScope.HOSTS),
        ("/homeless", "ext4", LockScope.DISK),
        ("/home/tmp/x", "tmpfs", LockScope.DISK),
        ("/old/me", "nfs", LockScope.ONE_HOST),
        ("/scratch/me", "lustre", LockScope.HOSTS),
        ("/fast/me", "lustre", LockScope.ONE_HOST),
        ("/bare/me", "lustre", LockScope.NOWHERE),
        ("/with blank/me", "beegfs", LockScope.ONE_HOST),
        ("/mine/x", "fuse.sshfs", LockScope.ONE_HOST),
        ("/share/x", "cifs", LockScope.ONE_HOST),
    ],
)
def test_the_lock_scope_follows_from_file_system_and_mount_options(
    path: str, kind: str, reach: LockScope
) -> None:
    filesystem = filesystem_at(MOUNTINFO, path)
    assert (filesystem.kind, filesystem.lock_scope) == (kind, reach)


def test_the_later_of_two_mounts_at_the_same_place_counts() -> None:
    assert filesystem_at(MOUNTINFO, "/gpfs/me").kind == "xfs"
    assert filesystem_at(MOUNTINFO.replace("xfs", "gpfs"), "/gpfs/me").lock_scope is LockScope.UNKNOWN


@given(st.text(), st.text(min_size=1))
def test_no_mount_table_makes_parsing_fail(table: str, path: str) -> None:
    assert filesystem_at(table, f"/{path}").lock_scope in LockScope


def test_a_folder_of_this_machine_is_found(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        here = Filesystem.of(disk.folder / "not" / "there")
        assert (here.kind, here.mounted_at) == ("tmpfs", os.path.realpath(disk.folder))
