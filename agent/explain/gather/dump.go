package gather

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// routine is a goroutine of a dump, with what may show which pod it belongs to.
type routine struct {
	evidence.Goroutine
	kind routineKind
	// parent is the goroutine that started it; 0: not known.
	parent int64
	// uid is where in memory the UID of the worker's pod is. texts are where the goroutine's
	// other texts are.
	uid   text
	texts []text
}

// text is the place of a text in the kubelet's memory.
type text struct {
	at  uint64
	len int
}

// routineKind is what a goroutine is for.
type routineKind int

const (
	ofNobody routineKind = iota // nothing that a rule looks at
	ofNode                      // one of its kind for the whole node
	ofPod                       // a pod's worker, or a goroutine that one started
	ofVolume                    // an operation on a volume
)

// podWorker is the function that each pod's worker runs in.
const podWorker = "kubelet.(*podWorkers).podWorkerLoop"

// nodeFuncs are functions of goroutines that are there once for the whole node.
var nodeFuncs = regexp.MustCompile(`^k8s\.io/kubernetes/pkg/kubelet(?:` + strings.Join([]string{
	`\.\(\*Kubelet\)\.(?:syncLoop|updateRuntimeUp|syncNodeStatus|fastStatusUpdateOnce|HandlePodCleanups)`,
	`/pleg\.`, `/status\.\(\*manager\)\.`,
	`/images\.\(\*serialImagePuller\)\.processImagePullRequests`,
	`/volumemanager/(?:reconciler|populator)\.`,
	`/eviction\.\(\*managerImpl\)\.synchronize`,
	`/nodeshutdown\.\(\*managerImpl\)`,
}, "|") + `)`)

// volumeFuncs are functions of goroutines that are operations on a volume.
var volumeFuncs = regexp.MustCompile(`/(?:nestedpendingoperations|goroutinemap)\.`)

const (
	// maxRoutines bounds how many goroutines are kept, maxFrames how many functions of each,
	// maxFrame how long a function's name is.
	maxRoutines = 2000
	maxFrames   = 100
	maxFrame    = 300
	maxTexts    = 16 // of a goroutine
)

// parseDump reads the goroutines of a dump as runtime.Stack writes it, and keeps those that a
// rule may look at. With an error it returns the goroutines that came before it.
func parseDump(r io.Reader) ([]routine, error) {
	p := dumpParser{}
	lines := newLines(r)
	for lines.Scan() {
		p.line(lines.Text())
	}
	p.endRoutine()
	return p.withPods(), lines.Err()
}

type dumpParser struct {
	now  routine
	open bool
	kept []routine
	// children are goroutines of which it is not known yet whether a pod's worker started them.
	children []routine
}

func (p *dumpParser) line(line string) {
	switch {
	case strings.HasPrefix(line, "goroutine "):
		p.endRoutine()
		p.now, p.open = parseHeader(line)
	case !p.open || line == "" || line[0] == '\t' || strings.HasPrefix(line, "..."):
	case strings.HasPrefix(line, "created by "):
		p.created(strings.TrimPrefix(line, "created by "))
	default:
		p.frame(line)
	}
}

var header = regexp.MustCompile(`^goroutine (\d{1,18}) (?:[^\[\]]{0,100} )?\[([^\]]{1,200})\]`)

// parseHeader reads the line that begins a goroutine, such as
//
//	goroutine 561 [sync.WaitGroup.Wait, 2 minutes, locked to thread]:
func parseHeader(line string) (r routine, ok bool) {
	m := header.FindStringSubmatch(line)
	if m == nil {
		return r, false
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return r, false
	}
	r.ID = id
	for i, part := range strings.Split(m[2], ", ") {
		n, isTime := strings.CutSuffix(part, " minutes")
		switch {
		case i == 0:
			r.State = words.Clean(part)
		case isTime:
			if minutes, err := strconv.Atoi(n); err == nil && minutes >= 0 && minutes < 1<<24 {
				r.Waits = time.Duration(minutes) * time.Minute
			}
		}
	}
	return r, true
}

// frame adds a function with its arguments.
func (p *dumpParser) frame(line string) {
	if len(p.now.Frames) >= maxFrames {
		return
	}
	name, args := line, ""
	if i := strings.LastIndexByte(line, '('); i > 0 {
		name, args = line[:i], line[i:]
	}
	name = name[:min(len(name), maxFrame)]
	worker := strings.HasSuffix(name, podWorker)
	switch {
	case worker:
		p.now.kind = ofPod
	case p.now.kind == ofNobody && nodeFuncs.MatchString(name):
		p.now.kind = ofNode
	case p.now.kind != ofPod && volumeFuncs.MatchString(name):
		p.now.kind = ofVolume
	}
	p.args(args, worker)
	p.now.Frames = append(p.now.Frames, words.Clean(name))
}

// pair matches an argument of two words, as a text is: its place, and its length.
var pair = regexp.MustCompile(`\{0x([0-9a-f]{1,16}), 0x([0-9a-f]{1,3})\}`)

// args notes where the texts are that a function was given. It skips words with a question
// mark: they may be left from an earlier call.
func (p *dumpParser) args(args string, worker bool) {
	for _, m := range pair.FindAllStringSubmatch(args, maxTexts) {
		at, err := strconv.ParseUint(m[1], 16, 64)
		n, err2 := strconv.ParseInt(m[2], 16, 32)
		if err != nil || err2 != nil || at == 0 || n < shortUID {
			continue
		}
		t := text{at, int(n)}
		if worker && (n == longUID || n == shortUID) {
			p.now.uid = t
		} else if len(p.now.texts) < maxTexts {
			p.now.texts = append(p.now.texts, t)
		}
	}
}

// created notes which goroutine started this one, such as "pkg.Func in goroutine 7".
func (p *dumpParser) created(by string) {
	name, id, _ := strings.Cut(by, " in goroutine ")
	p.now.parent, _ = strconv.ParseInt(id, 10, 64)
	if len(p.now.Frames) < maxFrames {
		p.now.Frames = append(p.now.Frames, "created by "+words.Clean(name[:min(len(name), maxFrame)]))
	}
}

func (p *dumpParser) endRoutine() {
	if !p.open {
		return
	}
	p.open = false
	switch {
	case len(p.now.Frames) == 0:
	case p.now.kind != ofNobody && len(p.kept) < maxRoutines:
		p.kept = append(p.kept, p.now)
	case p.now.kind == ofNobody && p.now.parent != 0 && len(p.children) < maxRoutines && forPod(p.now.Frames):
		p.children = append(p.children, p.now)
	}
}

// forPod reports whether a goroutine that a pod's worker started is about the pod. Others watch
// a Secret or a ConfigMap from then on.
func forPod(frames []string) bool {
	about := false
	for _, f := range frames {
		if strings.Contains(f, "k8s.io/kubernetes/pkg/kubelet/util/manager.") {
			return false
		}
		about = about || strings.Contains(f, "k8s.io/kubernetes/pkg/kubelet") && !strings.HasPrefix(f, "created by ")
	}
	return about
}

// withPods adds the goroutines that pods' workers started, directly or through other
// goroutines, such as those that each end one of a pod's containers.
func (p *dumpParser) withPods() []routine {
	workers := map[int64]bool{}
	for _, r := range p.kept {
		workers[r.ID] = workers[r.ID] || r.kind == ofPod
	}
	for range maxDepth {
		var rest []routine
		for _, r := range p.children {
			if !workers[r.parent] || len(p.kept) >= maxRoutines {
				rest = append(rest, r)
				continue
			}
			r.kind, workers[r.ID] = ofPod, true
			p.kept = append(p.kept, r)
		}
		if len(rest) == len(p.children) {
			break
		}
		p.children = rest
	}
	return p.kept
}

// maxDepth is how many goroutines away from a pod's worker a goroutine may be.
const maxDepth = 4
