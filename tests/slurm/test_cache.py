"""The facts about a node are looked up once and kept for its steps, on real daemons: who writes and who reads."""

import os
import pwd

import pytest

from conftest import empty
from keeper import wait_until
from launching import LINE, batch, launch, srun, start  # noqa: F401

OPTIONS = ("-n2", "--gres=gpu:8")


@pytest.fixture
def rig(launch):
    yield launch
    empty(launch)


def kept(rig):
    """The files with facts."""
    return list((rig.run_dir / "railhead").glob("*"))


def restart(rig):
    rig.stop_daemon("n01")
    rig.start_slurmd("n01")


def nics(tasks):
    return [task["env"].get("UCX_NET_DEVICES") for task in tasks]


def mode(path):
    return oct(path.stat().st_mode & 0o7777)


def say_otherwise(file):
    """Has the file tell of a NIC that is not there, in order to see whether it is read."""
    file.write_text(file.read_text().replace("mlx5_0\t", "mlx5_77\t"))


def test_slurmd_looks_when_it_starts_and_root_alone_can_write_what_it_keeps(rig):
    file, = kept(rig)
    assert (file.owner(), mode(file)) == ("root", "0o644")
    assert (file.parent.owner(), mode(file.parent)) == ("root", "0o755")
    assert "each step will look" not in rig.log("n01")


def test_a_step_goes_by_what_is_kept(rig):
    file, = kept(rig)
    before = nics(srun(rig, *OPTIONS))
    say_otherwise(file)
    assert nics(srun(rig, *OPTIONS)) == [before[0].replace("mlx5_0:1", "mlx5_77:1"), before[1]]
    restart(rig)  # which looks again, whatever is there
    assert wait_until(lambda: "mlx5_77" not in kept(rig)[0].read_text(), 10)
    assert nics(srun(rig, *OPTIONS)) == before


def test_the_first_step_keeps_what_slurmd_has_not(rig):
    before = nics(srun(rig, *OPTIONS))
    kept(rig)[0].unlink()
    assert nics(srun(rig, *OPTIONS)) == before
    file, = kept(rig)
    assert (file.owner(), mode(file)) == ("root", "0o644")


def test_a_batch_step_keeps_it_too_and_a_step_without_gpus_does_not(rig):
    kept(rig)[0].unlink()
    srun(rig, "-n1")
    assert not kept(rig)
    srun(rig, "-n1", "--gres=gpu:1", "--railhead=off")
    assert not kept(rig)
    batch(rig, "REPORT", "--gres=gpu:1")
    assert len(kept(rig)) == 1


def own(rig, file):
    os.chown(file, pwd.getpwnam(rig.user).pw_uid, -1)


def link(rig, file):
    target = rig.work / "facts"
    file.rename(target)
    own(rig, target)
    file.symlink_to(target)


@pytest.mark.parametrize("spoil", [
    own, link, lambda rig, file: file.chmod(0o666), lambda rig, file: os.truncate(file, file.stat().st_size - 20),
    lambda rig, file: os.truncate(file, 1 << 40)], ids=["a user's", "a link", "everybody's", "cut short", "a terabyte"])
def test_what_a_user_could_have_written_is_not_read_and_put_right(rig, spoil):
    before = nics(srun(rig, *OPTIONS))
    file, = kept(rig)
    say_otherwise(file)
    spoil(rig, file)
    assert nics(srun(rig, *OPTIONS)) == before
    file, = kept(rig)
    assert (file.owner(), mode(file), file.is_symlink()) == ("root", "0o644", False)
    assert "mlx5_77" not in file.read_text()


def test_a_folder_that_a_user_owns_is_not_read_and_the_step_is_served(rig):
    before = nics(srun(rig, *OPTIONS))
    file, = kept(rig)
    say_otherwise(file)
    own(rig, file.parent)
    try:
        assert nics(srun(rig, *OPTIONS)) == before
        assert "mlx5_77" in file.read_text()  # nor written
    finally:
        os.chown(file.parent, 0, 0)
        restart(rig)


def test_nothing_is_kept_when_that_is_switched_off(start):
    rig = start(line=LINE.replace("cache={run}/railhead", "cache=off"))
    assert all(nics(srun(rig, *OPTIONS)))
    assert list(rig.run_dir.iterdir()) == []


def test_slurmd_says_why_nothing_can_be_kept_and_steps_are_served(start):
    rig = start(line=LINE.replace("cache={run}/railhead", "cache={run}/none/railhead"))
    assert 'each step will look at the hardware: cannot make the folder "' in rig.log("n01")
    assert all(nics(srun(rig, *OPTIONS)))
