"""The programs that only start another command, as data: which of their options take a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How the command line of a wrapper is read up to the command that it starts."""

    values: frozenset[str] = frozenset()
    """Options whose value is the next word (`-n 5`), if it is not attached (`-n5`, `--adjustment=5`)."""
    pairs: frozenset[str] = frozenset()
    """Options that take the next two words."""
    environment: frozenset[str] = frozenset()
    """Those of `values` that set a variable: `NAME=value`."""
    directory: frozenset[str] = frozenset()
    """Those of `values` that set the working directory."""
    image: frozenset[str] = frozenset()
    """Those of `values` that name a container image."""
    exports: frozenset[str] = frozenset()
    """Those of `values` that list what is handed on: `ALL,NAME=value`."""
    positional: int = 0
    """Words of its own between the options and the command, such as the duration of `timeout`."""
    assigns: bool = False
    """True if `NAME=value` words before the command set variables."""
    clears: frozenset[str] = frozenset()
    """Switches that start from an empty environment."""
    keeps: frozenset[str] | None = None
    """Where not None: only with one of these switches does the command get the environment of its caller."""
    without_command: frozenset[str] = frozenset()
    """Switches with which it starts nothing."""
    subcommand: tuple[str, ...] = ()
    """Words, one of which must come before the options count: `run`."""
    script: bool = False
    """True if a shell reads what it is given, so that one word can hold several."""
    single_dash: bool = False
    """True if `-np` is one option, not `-n` and `-p`."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SRUN = _names(
    """-A -b -B -c -C -d -D -e -G -i -J -L -m -M -n -N -o -p -P -q -r -S -t -T -w -W -x
    --account --acctg-freq --bb --bbf --begin --chdir --cluster-constraint --clusters --comment --constraint
    --container --container-env --container-image --container-mounts --container-name --container-workdir
    --core-spec --cores-per-socket --cpu-bind --cpu-freq --cpus-per-gpu --cpus-per-task --deadline
    --delay-boot --dependency --distribution --epilog --error --exclude --export --export-file
    --extra-node-info --gpu-bind --gpu-freq --gpus --gpus-per-node --gpus-per-socket --gpus-per-task --gres
    --gres-flags --het-group --hint --input --jobid --job-name --licenses --mail-type --mail-user
    --mcs-label --mem --mem-bind --mem-per-cpu --mem-per-gpu --mincpus --mpi --msg-timeout --network --nice
    --nodefile --nodelist --nodes --ntasks --ntasks-per-core --ntasks-per-gpu --ntasks-per-node
    --ntasks-per-socket --open-mode --output --partition --power --prefer --priority --profile --prolog --qos
    --relative --reservation --signal --sockets-per-node --switches --task-epilog --task-prolog
    --thread-spec --threads --threads-per-core --time --time-min --tmp --tres-bind --tres-per-task --uid --gid
    --wait --wckey"""
)
_MPIRUN = _names(
    """-n -np -c -N -H -host --host -hostfile --hostfile -machinefile --machinefile -hosts -f -ppn -x -wdir
    --wdir -wd --map-by -map-by --bind-to -bind-to --rank-by -rank-by -npernode --npernode --np --n --prefix
    --path -path --report-uri --output-filename --rankfile -rf --rf --timeout --app --display
    --runtime-options --slot-list --cpu-set --cpu-list --default-hostfile -genvlist -envlist -iface
    -launcher -bootstrap -rmk -configfile --stdin -stdin"""
)
_UV = _names(
    """--with --with-editable --with-requirements --extra --no-extra --group --no-group --only-group --python
    -p --env-file --directory --project --index --default-index --index-url -i --extra-index-url
    --find-links -f --package --upgrade-package -P --reinstall-package --refresh-package --resolution
    --prerelease --fork-strategy --exclude-newer --link-mode --config-setting -C --config-file
    --cache-dir --color
    --python-platform --no-build-package --no-binary-package --no-build-isolation-package
    --allow-insecure-host --index-strategy --keyring-provider --python-preference"""
)
_CONDA = Wrapper(
    values=_names("-n --name -p --prefix --cwd -a --attach -e --env -r --root-prefix --rc-file"),
    environment=_names("-e --env"),
    directory=_names("--cwd"),
    subcommand=("run",),
)
_RUN = Wrapper(
    values=_names("-C --directory -P --project -p -e --environment --manifest-path"), subcommand=("run",)
)
_INIT = Wrapper(values=_names("-p -e -r --rewrite"))

WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        values=_names("-u --unset -C --chdir -S --split-string -a --argv0"),
        directory=_names("-C --chdir"),
        assigns=True,
        clears=_names("-i - --ignore-environment"),
    ),
    "exec": Wrapper(values=_names("-a"), clears=_names("-c")),
    "nohup": Wrapper(),
    "nice": Wrapper(values=_names("-n --adjustment")),
    "ionice": Wrapper(
        values=_names("-c --class -n --classdata"), without_command=_names("-p --pid -P -u --pgid --uid")
    ),
    "taskset": Wrapper(positional=1, without_command=_names("-p --pid")),
    "chrt": Wrapper(
        values=_names("-T --sched-runtime -P --sched-period -D --sched-deadline"),
        positional=1,
        without_command=_names("-p --pid -m --max"),
    ),
    "numactl": Wrapper(
        values=_names(
            """-i --interleave -w --weighted-interleave -p --preferred -P --preferred-many -m --membind
            -N --cpunodebind -C --physcpubind -o --offset -L --length -M --mode -S --shm -f --file"""
        ),
        without_command=_names("-s --show -H --hardware"),
    ),
    "stdbuf": Wrapper(values=_names("-i --input -o --output -e --error")),
    "setsid": Wrapper(),
    "time": Wrapper(values=_names("-f --format -o --output")),
    "timeout": Wrapper(values=_names("-k --kill-after -s --signal"), positional=1),
    "sudo": Wrapper(
        values=_names(
            """-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T
            --command-timeout -U --other-user -D --chdir -R --chroot"""
        ),
        directory=_names("-D --chdir"),
        assigns=True,
        keeps=_names("-E --preserve-env"),
    ),
    "command": Wrapper(without_command=_names("-v -V")),
    "builtin": Wrapper(),
    "gosu": Wrapper(positional=1),
    "su-exec": Wrapper(positional=1),
    "tini": _INIT,
    "tini-static": _INIT,
    "docker-init": _INIT,
    "dumb-init": _INIT,
    "catatonit": Wrapper(),
    "srun": Wrapper(
        values=_SRUN,
        directory=_names("-D --chdir --container-workdir"),
        image=_names("--container-image"),
        exports=_names("--export"),
    ),
    "mpirun": Wrapper(
        values=_MPIRUN,
        pairs=_names("--mca -mca --gmca -gmca --prtemca -genv -env --pmixmca"),
        environment=_names("-x"),
        directory=_names("-wdir --wdir -wd"),
        single_dash=True,
    ),
    "uv": Wrapper(values=_UV, directory=_names("--directory"), subcommand=("run",)),
    "poetry": _RUN,
    "pdm": _RUN,
    "pixi": _RUN,
    "pipenv": _RUN,
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "nsys": Wrapper(
        values=_names(
            """-b -c -d -e -f -g -i -j -m -n -o -p -s -t -w -x -y -C -P -X --backtrace --capture-range
            --capture-range-end --clock-frequency-changes --command-file --cpu-core-events --cpu-core-metrics
            --cpuctxsw --cuda-event-trace --cuda-flush-interval --cuda-graph-trace --cuda-memory-usage
            --cuda-trace-all-apis --cuda-um-cpu-page-faults --cuda-um-gpu-page-faults --cudabacktrace --delay
            --discard --dask --duration --el1-sampling --enable --env-var --etw-provider --event-sample
            --event-sampling-interval --export --flush-on-cudaprofilerstop --force-overwrite --ftrace
            --ftrace-keep-user-config --gpu-metrics-devices --gpu-metrics-device --gpu-metrics-frequency
            --gpu-metrics-set --gpu-video-device --gpuctxsw --hotkey-capture --inherit-environment
            --injection-use-detours --isr --kill --mpi-impl --nic-metrics --ib-switch-metrics-device
            --nvtx-capture --nvtx-domain-exclude --nvtx-domain-include --opengl-gpu-workload --os-events
            --osrt-backtrace-depth --osrt-backtrace-stack-size --osrt-backtrace-threshold --osrt-threshold
            --output --process-scope --python-backtrace --python-functions-trace --python-sampling
            --python-sampling-frequency --pytorch --qnx-kernel-events --resolve-symbols --retain-etw-files
            --run-as --sample --samples-per-backtrace --sampling-frequency --sampling-period --session
            --session-new --show-output --start-frame-index --start-later --stats --stop-on-exit
            --stop-on-range-end --storage-metrics --syscall --trace --trace-fork-before-exec --ucx-trace
            --vulkan-gpu-workload --wait --wddm-additional-events --xhv-trace"""
        ),
        environment=_names("-e --env-var"),
        subcommand=("profile", "launch"),
    ),
    "systemd-run": Wrapper(
        values=_names(
            """-u --unit -p --property --description --slice --uid --gid --nice --working-directory -E
            --setenv --service-type -M --machine -H --host --on-active --on-boot --on-startup --on-unit-active
            --on-unit-inactive --on-calendar --path-property --socket-property --timer-property
            --background"""
        ),
        environment=_names("-E --setenv"),
        directory=_names("--working-directory"),
        keeps=_names("--scope"),
    ),
}
_CONTAINER_FILE = Wrapper(
    values=_names(
        """-B --bind -H --home -W --workdir -o --overlay --env --env-file --pwd --cwd --network --network-args
        --dns --hostname --security --apply-cgroups --scratch -S --mount --app --add-caps --drop-caps
        --fusemount --cpus --memory --gpus"""
    ),
    environment=_names("--env"),
    directory=_names("--pwd --cwd"),
    subcommand=("exec", "run"),
    positional=1,
)
WRAPPERS |= {
    "mpiexec": WRAPPERS["mpirun"],
    "apptainer": _CONTAINER_FILE,
    "singularity": _CONTAINER_FILE,
    "ssh": Wrapper(
        values=_names("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w"),
        positional=1,
        keeps=frozenset(),
        script=True,
    ),
    "tmux": Wrapper(
        values=_names("-c -e -F -f -L -n -S -s -t -x -y"),
        environment=_names("-e"),
        subcommand=("new-session", "new", "new-window", "neww", "split-window", "splitw"),
        script=True,
    ),
    "screen": Wrapper(values=_names("-c -e -h -p -s -S -t -T")),
    "prlimit": Wrapper(values=_names("-o --output"), without_command=_names("-p --pid")),
}

USERS = frozenset({"su", "runuser"})
USER_SCRIPT = frozenset({"-c", "--command", "-lc"})

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
SHELL_VALUES = _names("-o +o -O +O --rcfile --init-file")

ENGINES = frozenset({"docker", "podman", "nerdctl"})
ENGINE_VALUES = _names(
    """-c --context --connection -H --host --url --config -l --log-level --tlscacert --tlscert --tlskey
    -n --namespace -a --address --root --runroot --storage-driver --cgroup-manager --tmpdir"""
)
CONTAINER_RUN = Wrapper(
    values=_names(
        """-a --attach -c --cpu-shares -e --env -h --hostname -l --label -m --memory -p --publish -u --user
        -v --volume -w --workdir
        --add-host --annotation --arch --authfile --blkio-weight --blkio-weight-device --cap-add --cap-drop
        --cgroup-conf --cgroup-parent --cgroupns --cgroups --chrootdirs --cidfile --conmon-pidfile --cpu-count
        --cpu-percent --cpu-period --cpu-quota --cpu-rt-period --cpu-rt-runtime --cpus --cpuset-cpus
        --cpuset-mems --creds --decryption-key --detach-keys --device --device-cgroup-rule --device-read-bps
        --device-read-iops --device-write-bps --device-write-iops --dns --dns-opt --dns-option --dns-search
        --domainname --entrypoint --env-file --env-merge --expose --gidmap --gpus --group-add --group-entry
        --health-cmd --health-interval --health-on-failure --health-retries --health-start-interval
        --health-start-period --health-timeout --hooks-dir --hostuser --image-volume --init-path
        --io-maxbandwidth --io-maxiops --ip --ip6 --ipc --isolation --kernel-memory --label-file --link
        --link-local-ip --log-driver --log-opt --mac-address --memory-reservation --memory-swap
        --memory-swappiness --mount --name --net --net-alias --network --network-alias --oom-score-adj --os
        --passwd-entry --personality --pid --pidfile --pids-limit --platform --pod --pod-id-file
        --preserve-fd --preserve-fds --pull --requires --restart --retry --retry-delay --rootfs-propagation
        --runtime --sdnotify --seccomp-policy --secret --security-opt --shm-size --shm-size-systemd
        --snapshotter
        --stop-signal --stop-timeout --storage-opt --subgidname --subuidname --sysctl --systemd --timeout
        --tmpfs --tz --uidmap --ulimit --umask --unsetenv --use-api-socket --userns --uts --variant
        --verify --volume-driver --volumes-from --cosign-key --cosign-certificate-identity"""
    ),
    directory=_names("-w --workdir"),
    environment=_names("-e --env"),
)
CONTAINER_EXEC = Wrapper(
    values=_names("-e --env -u --user -w --workdir --env-file --detach-keys --preserve-fds"),
    directory=_names("-w --workdir"),
    environment=_names("-e --env"),
)
