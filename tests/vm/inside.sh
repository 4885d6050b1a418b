# In the machine of check.sh: the pool of docs/install.md on one machine, tried. Started at each boot; the
# file `stage` says how far it is.
cd /root
exec > >(while IFS= read -r line; do echo "$line" >/dev/ttyS0; done) 2>&1
stage=$(cat stage 2>/dev/null || echo 0)
runs=/sys/fs/cgroup/berth.slice/berth-runs@gpu-01.service
export HOME=/root

# try WHAT COMMAND...: within some minutes (an emulated machine is slow)
try() {
        what=$1; shift
        for _ in $(seq 60); do
                "$@" >/dev/null 2>&1 && { echo "ok $what"; return; }
                sleep 2
        done
        echo "not ok $what"
        "$@" 2>&1 | sed 's/^/# /'
        journalctl -q --no-pager -n 15 -o cat -u berthd -u 'berth-*' | sed 's/^/# /'
}
says() { berth status "$1" 2>&1 | grep -qE "$2"; }                # says WORK PATTERN
wrote() { berth logs "$1" 2>&1 | grep -qE "$2"; }
value() { cat "$runs"/berth-runs-*/*/"$1"; }
main_pid() { systemctl show -p MainPID --value "$1"; }
first_pid() { cat "$runs"/berth-runs-*/[0-9]*/cgroup.procs | head -1; }
submit() { runuser -u ana -- berth submit --tenant vision --devices 1 --workdir /tmp --name "$@" >/dev/null; }

set_up() {
        mkdir -p /etc/berth
        cd /etc/berth
        printf '%s\n' 'kind: Pool' 'name: lab' 'nodes:' \
                '  - {name: "gpu-[01-02]", devices: {model: H100-80, count: 8}, cpu: 96, ram: 1024Gi}' >pool.yaml
        printf '%s\n' 'kind: Policy' 'preset: protected' 'default_class: training' 'tenants:' \
                '  vision: {protect: {H100-80: 8}, limit: {H100-80: 16}}' 'principals:' \
                '  - {name: ana, uid: 1000, tenants: {vision: submitter}, run_as: ana}' >policy.yaml
        echo "BERTHD_OPTIONS=--pool /etc/berth/pool.yaml --policy /etc/berth/policy.yaml" \
                "--listen tcp:0.0.0.0:7070 --tls-cert /etc/berth/tls.crt --tls-key /etc/berth/tls.key" >berthd.env
        new_certificate
        cp tls.crt ca.crt
        echo "BERTH_AGENT_OPTIONS=--url https://berth.example:7070 --ca-file /etc/berth/ca.crt" \
                "--join-token-file /etc/berth/join-token" >agent.env
        try "the units are in order" systemd-analyze verify berthd.service berthd.socket \
                berth-agent@gpu-01.service
        try "the controller starts" systemctl enable --now berthd.socket berthd
        try "a node's token is made" berth token make --join --node gpu-01 --out join-token
        chmod 600 join-token
        try "the agent starts" systemctl enable --now berth-agent@gpu-01
        try "the node joins" sh -c 'berth pool --nodes | grep -q "^gpu-01  up"'
        install -d -m 0700 /etc/berth/secrets/ana
        (umask 077; echo hidden >/etc/berth/secrets/ana/word)
        cd /root
}

new_certificate() {
        openssl req -x509 -newkey ed25519 -nodes -days "${1:-365}" -keyout /etc/berth/tls.key \
                -out /etc/berth/tls.crt -subj /CN=berth.example -addext subjectAltName=DNS:berth.example 2>/dev/null
}

limits_hold() {
        submit who --cpu 1 --ram 64Mi -- sh -c 'id -un; cat /proc/self/cgroup'
        try "work runs as its account" wrote who '^ana$'
        try "in a control group of the unit for work" wrote who '/berth.slice/berth-runs@gpu-01.service/'
        submit busy --cpu 1 --ram 64Mi -- sh -c 'yes >/dev/null & yes >/dev/null & wait'
        try "its memory is bounded" sh -c "cat $runs/berth-runs-*/[0-9]*/memory.max | grep -qx 67108864"
        try "and its processors" sh -c "grep -q 'nr_throttled [1-9]' $runs/berth-runs-*/[0-9]*/cpu.stat"
        one=$(value cpu.stat | awk '/usage_usec/ {n += $2} END {print n}') at=$(date +%s%N)
        sleep 10
        two=$(value cpu.stat | awk '/usage_usec/ {n += $2} END {print n}')
        used=$(((two - one) * 100000 / ($(date +%s%N) - at)))
        try "two processes on one processor had $used % of one" test "$used" -le 115
        berth cancel busy >/dev/null
        submit hog --cpu 1 --ram 64Mi -- sh -c 'tail /dev/zero; echo survived'
        try "who needs more memory fails" says hog '^[0-9]+ hog: failed'
        try "and is told why" says hog 'out of memory: it needed more than the 64 MiB'
        try "the agent went on" systemctl is-active berth-agent@gpu-01
        printf '%s\n' 'kind: Workload' 'name: word' 'tenant: vision' 'each: {devices: 1}' \
                "run: {command: [sh, -c, 'cat \$BERTH_SECRETS/word'], secrets: [word], workdir: /tmp}" >/tmp/word.yaml
        runuser -u ana -- berth submit /tmp/word.yaml >/dev/null
        try "secrets are given" wrote word '^hidden$'
}

# same_process WHAT: the work is the one that it was.
same_process() { try "$1" sh -c "kill -0 $kept && ! grep -q Z /proc/$kept/status"; }

parts_go() {
        submit keep --cpu 1 --ram 64Mi -- sh -c 'while :; do sleep 1; done'
        try "long work runs" says keep 'keep: running'
        kept=$(first_pid)
        systemctl restart berth-agent@gpu-01
        same_process "it outlives a restart of the agent"
        kill -9 "$(main_pid berth-agent@gpu-01)"
        try "a killed agent comes back" sh -c 'sleep 2; systemctl is-active berth-agent@gpu-01'
        same_process "the work outlives that"
        systemctl daemon-reload; systemctl restart berthd
        same_process "and a restart of the controller"
        kill -9 "$(main_pid berth-runs@gpu-01)"
        sleep 2
        same_process "and the end of the process that holds its group"
        old=$(main_pid berthd)
        kill -STOP "$old"
        try "a controller that hangs is started anew" sh -c \
                "[ \$(systemctl show -p MainPID --value berthd) != $old ] && berth pool"
        same_process "the work outlives that, too"
        sed -i 's/default_class: training/default_class: batch/' /etc/berth/policy.yaml
        cp -p /etc/berth/tls.crt /etc/berth/tls.key /root
        new_certificate 30
        systemctl reload berthd
        try "a policy is taken at a reload" sh -c 'berth policy show | grep -q "default_class: batch"'
        try "and a certificate" sh -c 'echo | openssl s_client -connect 127.0.0.1:7070 2>/dev/null |
                openssl x509 -noout -checkend $((31 * 86400)) | grep -q "will expire"'
        cp -p /root/tls.crt /root/tls.key /etc/berth
        systemctl reload berthd
}

# What does not heed TERM is killed, and its supervisor with it.
stopped_by_hand() {
        mkdir -p "/etc/systemd/system/berth-runs@.service.d"
        printf '%s\n' '[Service]' 'TimeoutStopSec=5' >"/etc/systemd/system/berth-runs@.service.d/quick.conf"
        systemctl daemon-reload
        submit stubborn --cpu 1 --ram 64Mi -- sh -c 'trap "" TERM; while :; do sleep 1; done'
        try "stubborn work runs" says stubborn 'stubborn: running'
        systemctl stop berth-runs@gpu-01
        systemctl start berth-agent@gpu-01
        try "what was stopped by hand has not failed" says stubborn 'its node went down'
        try "and runs again, too" says stubborn 'stubborn: running'
        berth cancel stubborn >/dev/null
}

case $stage in
0)
        set_up
        limits_hold
        parts_go
        echo 1 >stage
        echo "# a reboot, with work running"
        systemctl reboot
        ;;
1)
        try "after a reboot the node is up" sh -c 'berth pool --nodes | grep -q "^gpu-01  up"'
        try "what ran has not failed, and says why it ended" says keep 'its node went down'
        try "and runs again" says keep 'keep: running'
        echo 2 >stage
        sync
        echo "# the power goes, with work running"
        echo "PULL THE PLUG"
        ;;
2)
        try "after a loss of power the node is up" sh -c 'berth pool --nodes | grep -q "^gpu-01  up"'
        try "what ran says why it ended, again" says keep '^ +2 .* its node went down'
        try "and runs for the third time" says keep 'keep: running'
        try "the log is whole" berth store check /var/lib/berth/pool.db
        try "no unit has failed" sh -c '! systemctl --failed --no-legend | grep -q berth'
        stopped_by_hand
        echo 3 >stage
        echo "THE END"
        ;;
esac
sleep 5                                 # until the last line is written
