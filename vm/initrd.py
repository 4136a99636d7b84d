"""What a virtual machine starts with: Debian's kernel, its modules, busybox, a first process."""

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
_KERNEL = HERE.parent / "target" / "vm-kernel"
_MODULES = (
    *("nvme", "9p", "9pnet_virtio", "virtio_pci", "virtio_blk"),
    *("overlay", "ext4", "crct10dif_generic", "crc32c_generic"),
)


def kernel() -> Path:
    """Return the kernel; raises RuntimeError where none was unpacked."""
    found = sorted(_KERNEL.glob("boot/vmlinuz-*"))
    if not found:
        raise RuntimeError(f"{_KERNEL} has no kernel: make test-vm unpacks one")
    return found[-1]


def initrd(directory: Path) -> Path:
    """Make the archive in `directory` and return it."""
    busybox = shutil.which("busybox")
    assert busybox is not None
    tree = directory / "initrd"
    for place in ("bin", "proc", "sys", "dev", "lower", "upper", "root"):
        (tree / place).mkdir(parents=True)
    shutil.copy(busybox, tree / "bin" / "busybox")
    shutil.copy(HERE / "init", tree / "init")
    (tree / "init").chmod(0o755)
    version = kernel().name.removeprefix("vmlinuz-")
    subprocess.run([busybox, "depmod", "-b", _KERNEL, version], check=True)
    modules = Path("lib") / "modules" / version
    needs: dict[str, list[str]] = {}
    for line in (_KERNEL / modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[Path(path).stem] = [path, *others.split()]
    wanted = {path for name in _MODULES for path in needs[name]}
    for name in sorted({*wanted, "modules.dep", "modules.alias", "modules.builtin"}):
        (tree / modules / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_KERNEL / modules / name, tree / modules / name)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    packed = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"],
        cwd=tree,
        input=names.encode(),
        capture_output=True,
        check=True,
    )
    archive = directory / "initrd.cpio"
    archive.write_bytes(packed.stdout)
    return archive
