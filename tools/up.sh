#!/bin/sh
# Starts a pool on this machine: the controller, and an agent for each node of the example pool (with
# simulated devices; the processes of the work are real). Does nothing where it runs already.
#
#     up.sh BUILD FOLDER            starts it, runs one job, and says how to go on
#     up.sh BUILD FOLDER down       ends it; the work that runs ends too
set -eu

build=$1 folder=$2 what=${3:-up}
here=$(cd "$(dirname "$0")/.." && pwd)
case $build in /*) ;; *) build=$here/$build ;; esac
case $folder in /*) ;; *) folder=$here/$folder ;; esac
socket=$folder/berthd.sock
BERTH_URL=unix:$socket
export BERTH_URL

answers() { "$build/berth" pool >/dev/null 2>&1; }
nodes_are_there() { [ "$("$build/berth" pool --json | sed -n 's/.*"nodes_up": *\([0-9]*\).*/\1/p')" = 5 ]; }

# until_it COMMAND WHAT LOG: waits for a minute
until_it() {
        tries=0
        until "$1"; do
                tries=$((tries + 1))
                if [ $tries -gt 600 ]; then
                        echo "up: $2; the last words of $3:" >&2
                        tail -5 "$3" >&2
                        exit 1
                fi
                sleep 0.1
        done
}

# Whether the process of that file is one of this pool: its number may be another's by now.
runs() { tr '\0' ' ' 2>/dev/null <"/proc/$(cat "$1")/cmdline" | grep -qF "$folder/"; }

# The agents were told to end their work with them; they are waited for.
end() {
        for file in "$folder"/*.pid; do
                [ -f "$file" ] && runs "$file" && kill "$(cat "$file")" 2>/dev/null || true
        done
        for file in "$folder"/*.pid; do
                [ -f "$file" ] || continue
                tries=0
                while runs "$file" && [ $tries -lt 600 ]; do
                        tries=$((tries + 1))
                        sleep 0.1
                done
                rm -f "$file"
        done
}

# start NAME COMMAND...: in the background, its words in FOLDER/NAME.log
start() {
        name=$1
        shift
        setsid "$@" >"$folder/$name.log" 2>&1 </dev/null &
        echo $! >"$folder/$name.pid"
}

if [ "$what" = down ]; then
        end
        echo "the pool has ended; what it knows stays in $folder"
        exit 0
fi

mkdir -p "$folder"
if answers; then
        echo "the pool runs already"
else
        end
        start berthd "$build/berthd" --store "$folder/pool.db" --listen "unix:$socket" \
                --pool "$here/examples/pool.yaml" --policy "$here/examples/policy.yaml"
        until_it answers "berthd does not answer" "$folder/berthd.log"
        for node in gpu-01 gpu-02 gpu-03 gpu-04 serve-01; do
                start "agent-$node" "$build/berth-agent" --url "$BERTH_URL" --node "$node" \
                        --pool "$here/examples/pool.yaml" --state "$folder/agent-$node" --runs-as self --stop-runs
        done
        until_it nodes_are_there "not all nodes are there" "$folder/agent-gpu-01.log"
fi

echo
"$build/berth" submit --wait --tenant research --class training --name hello --devices 1 \
        -- sh -c 'echo "hello from $BERTH_NAME: devices $CUDA_VISIBLE_DEVICES"'
"$build/berth" logs hello
echo
"$build/berth" pool
cat <<EOF

The pool answers at $BERTH_URL. Go on with:

  export BERTH_URL=$BERTH_URL PATH=$build:\$PATH
  berth submit --tenant research --class training --devices 8 --name train -- sleep 600
  berth status; berth queue; berth explain train; berth pool --nodes; berth top

'make down' ends it.
EOF
