package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/explain/recording"
	"github.com/podstep/podstep/probes"
)

// writeLog writes the page about logs: which steps they show, from which verbosity of the kubelet on.
func writeLog(w io.Writer) error {
	c, err := probes.Load()
	if err != nil {
		return err
	}
	counted, err := countByAPI(recordedCauses)
	if err != nil {
		return err
	}
	fmt.Fprint(w, strings.Replace(logIntro, "COUNTED", counted, 1))
	for i := range c.Stages {
		var rows strings.Builder
		for j := range c.Steps {
			if s := &c.Steps[j]; s.Stage == c.Stages[i].Name && len(s.Log) > 0 {
				fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Title.En, seenFrom(s, probes.LogEnter, probes.LogNote), seenFrom(s, probes.LogExit), seenFrom(s, probes.LogFailed))
			}
		}
		if rows.Len() > 0 {
			fmt.Fprintf(w, "\n### %s\n\n| step | | begins | ends | fails |\n|---|---|---|---|---|\n%s", c.Stages[i].Title.En, rows.String())
		}
	}
	return nil
}

// recordedCauses has a directory with snapshots for each cause that was recorded.
const recordedCauses = "agent/explain/causes/testdata/recorded"

// countByAPI says how many of the recorded causes the API server's objects show by themselves.
func countByAPI(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return "", err
	}
	all, byAPI := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		f, err := recording.Parse(file)
		if err != nil {
			return "", err
		}
		if f.Cause == recording.Healthy {
			continue
		}
		all[f.Cause] = true
		byAPI[f.Cause] = byAPI[f.Cause] || slices.Contains(f.Ways, recording.API)
	}
	n := 0
	for _, is := range byAPI {
		if is {
			n++
		}
	}
	return fmt.Sprintf("of the %d causes of which the tests have a recording, %d are named from the objects alone.", len(all), n), nil
}

// seenFrom returns the lowest verbosity at which a line shows one side of a step.
func seenFrom(s *probes.Step, sides ...probes.LogSide) string {
	best := -1
	for _, l := range s.Log {
		for _, side := range sides {
			if l.At == side && (best < 0 || l.V < best) {
				best = l.V
			}
		}
	}
	if best < 0 {
		return ""
	}
	return fmt.Sprintf("-v=%d", best)
}

const logIntro = `# The story from a log

` + "`go run ./cmd/gen log` makes this page from `probes/catalogue`." + ` A test compares each line with the source of the kubelet that the catalogue was read from.

Where no podstep ran, the logs of the kubelet and of containerd are left. podstep makes the same story of them, and shows it in the same screen:

    podstep replay kubelet.log containerd.log
    podstep why web --log kubelet.log --log containerd.log
    journalctl -u kubelet -u containerd -o json | podstep replay -

` + "`podstep export` and `podstep compare --trace`" + ` take a log in place of a trace, too.

While a node lives, podstep follows its logs. That takes no right inside of the kubelet, and puts nothing in its path:

    sudo podstep attach --probe log,api

podstep looks where the standard error of the kubelet, and of the process that serves the runtime's socket, goes: a file, or the journal, which podstep reads with the host's journalctl. It shows a line about a third of a second after it was written, since the lines of two logs come in no order. The story begins when podstep attaches; of the lines before, podstep learns whose sandboxes and containers are. A call that another probe sees, too, is one call. The default of podstep attach has no log probe: where podstep may look inside of the kubelet, that shows more. [--raise-verbosity](attach.md#a-kubelet-that-logs-more-for-a-time) makes the kubelet log more for some minutes.

The walk [Reading a pod in the kubelet's log](walkthroughs/read-log.md) goes through the creation of a pod line by line.

What is read:

- the kubelet's log, as text or JSON, by itself or as journalctl prints it, also with -o json;
- containerd's log, or CRI-O's, at its default level: both ends of each call that changes something;
- several files of one node, which may overlap, in any order; packed with gzip, zstd or xz; "-" is the standard input;
- a directory, or a tar, plain or packed, such as of kind export logs, must-gather or sosreport: podstep looks into each file in it, and takes the logs of a kubelet or of a runtime. Of logs of several nodes, --node chooses those in the directory with that name.
- node/NAME: the logs of a node on another machine, if no file has that name. podstep asks its kubelet through the API server, with the kubeconfig that kubectl would use, or that of --kubeconfig and --context. It takes the right to get nodes/proxy. If the kubelet allows node log queries (enableSystemLogQuery), it is asked for the logs of kubelet and containerd, or of CRI-O, k3s, RKE2 or MicroK8s, from --since to --until, and without --since for the last 100,000 lines. Otherwise podstep looks for such logs among the files below /var/log, which a kubelet serves by default (enableSystemLogHandler). A journal's own files are not read. A kubelet lets a query run for 30 seconds; podstep says so if that cut the log.

klog's text has no year and no zone. podstep takes the year in which the file was written to last, and the zone of this machine; --node-year and --node-zone name others. A journal has both. Of a log that podstep asks a node for it finds the zone by the times in UTC that come with it.

What a log tells:

- At the kubelet's default, -v=2, the skeleton: which pods come and go, mounts, what PLEG sees, and the errors of turns. These name the container and the reason, so podstep why finds most causes of a pod that cannot start.
- From -v=3 on also what the kubelet reports of the pod's status, and its events.
- From -v=4 on also the turns of each pod's worker, with their steps.
- With containerd's log also the calls to the runtime, each with both ends. Of the pull of an image that log does not say for which pod it is. The kubelet's event says so, from -v=3 on.

How much that is was measured with the 178 pods that the tests make stuck on a simulated node, at -v=2 and without a runtime's log. The kubelet's log alone names the cause of 58, and a more general one of 29, such as a crash loop without its exit code: the kubelet logs the code with the container's id, and the runtime's log has the name to the id. Of 61 it names nothing: at -v=2 no line is about readiness, about most of a termination, or about what the spec asks for. 30 never come to the kubelet.

With the API server's objects beside the log, as podstep why asks for both where it can, most causes need no line of it: COUNTED

What it does not tell:

- Of a step that has a line for its beginning only, podstep shows no duration: the end was not seen.
- Whether a container is ready is only in the kubelet's log from -v=3 on. Below, a container that was started counts as running.
- Values that the table does not name are not read: patches, specs and the output of probes may have secrets.
- Podstep reads the lines of ` + probes.KubernetesVersion + `. In v1.37.1 all of them are the same. In v1.28 to v1.35 three to seven are missing or have fewer values; in v1.25 thirteen.
- CRI-O has a line for the end of a call only if the call did well. podstep reads the lines that the source of CRI-O v1.34 has; it has not run beside one.

## Steps

The columns show from which verbosity on a line shows that a call begins, ends well, or fails.
`
