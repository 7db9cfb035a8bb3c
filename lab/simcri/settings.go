package simcri

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// behaviour states what a pod, or one of its containers, does. The zero value follows the command.
type behaviour struct {
	sandboxError, cniError     string
	sandboxHang                time.Duration
	sandboxTimes               int
	sandboxStopError           string
	sandboxStopTimes           int
	pull                       string
	pullImage                  string
	pullTime                   time.Duration
	pullTimes                  int
	pullAuth                   string
	createError, startError    string
	createTimes, startTimes    int
	stopError                  string
	stopTimes                  int
	exit                       int32
	exits                      bool
	exitAfter                  time.Duration
	exitTimes                  int
	oomAfter                   time.Duration
	ooms                       bool
	oomTimes                   int
	term                       string
	termAfter                  time.Duration
	termExit                   int32
	termExits                  bool
	readyAfter, unhealthyAfter time.Duration
	httpStatus                 map[string]int // by path, "" is every other
	ports                      []int
	execExit                   int32
	execExits                  bool
	execOutput                 string
	execDelay                  time.Duration
	log, message               string
	logEvery                   time.Duration
	cpu                        int64 // thousandths of a core
	memory                     int64 // bytes
}

// Setting is one setting of annotations and of a scenario's rules.
type Setting struct {
	Name    string
	PodOnly bool   // it is not for single containers
	Value   string // what a value looks like
	Help    string
	parse   func(b *behaviour, value string) error
}

// Prefix begins the names of the annotations. Behind it is a Setting's name, or a container's name, a dot and a
// Setting's name.
const Prefix = "sim.podstep.dev/"

// forever is longer than anything here lives.
const forever = 100 * 365 * 24 * time.Hour

var settings = []Setting{
	{"sandbox-error", true, "TEXT", "RunPodSandbox fails with this text.", text(func(b *behaviour) *string { return &b.sandboxError })},
	{"cni-error", true, "TEXT", "RunPodSandbox fails as it does when the network plugin's ADD says this.", text(func(b *behaviour) *string { return &b.cniError })},
	{"sandbox-hang", true, "DURATION or forever", "RunPodSandbox takes this long, or until the kubelet gives up.", length(func(b *behaviour) *time.Duration { return &b.sandboxHang })},
	{"sandbox-times", true, "N", "how often RunPodSandbox fails or hangs before it goes well; without it, always.", count(func(b *behaviour) *int { return &b.sandboxTimes })},
	{"sandbox-stop-error", true, "TEXT", "StopPodSandbox fails as it does when the network plugin's DEL says this: the pod stays Terminating.", text(func(b *behaviour) *string { return &b.sandboxStopError })},
	{"sandbox-stop-times", true, "N", "how often StopPodSandbox fails; without it, always.", count(func(b *behaviour) *int { return &b.sandboxStopTimes })},
	{"pull", true, pullKinds(), "how PullImage fails; `hang` lasts until the kubelet gives up. The pod does not see an image that an earlier pull brought.", oneOf(func(b *behaviour) *string { return &b.pull }, slices.Sorted(maps.Keys(pullFaults))...)},
	{"pull-image", true, "GLOB", "which images `pull` and `pull-time` are about; without it, all of the pod.", glob(func(b *behaviour) *string { return &b.pullImage })},
	{"pull-time", true, "DURATION", "how long a pull takes, whatever its size.", length(func(b *behaviour) *time.Duration { return &b.pullTime })},
	{"pull-times", true, "N", "how often `pull` fails before it goes well; without it, always.", count(func(b *behaviour) *int { return &b.pullTimes })},
	{"pull-auth", true, "USER:PASSWORD", "the credentials that the registry wants; without them it refuses.", text(func(b *behaviour) *string { return &b.pullAuth })},
	{"create-error", false, "TEXT", "CreateContainer fails with this text.", text(func(b *behaviour) *string { return &b.createError })},
	{"create-times", false, "N", "how often; without it, always.", count(func(b *behaviour) *int { return &b.createTimes })},
	{"start-error", false, "TEXT", "StartContainer fails as it does when runc says this; the container has exited with 128, StartError.", text(func(b *behaviour) *string { return &b.startError })},
	{"start-times", false, "N", "how often; without it, always.", count(func(b *behaviour) *int { return &b.startTimes })},
	{"exit", false, "CODE", "the container ends with this exit code, at once or after `exit-after`.", exitCode(func(b *behaviour) (*int32, *bool) { return &b.exit, &b.exits })},
	{"exit-after", false, "DURATION", "the container ends after this long, with `exit` or 0.", func(b *behaviour, v string) error {
		b.exits = true
		return length(func(b *behaviour) *time.Duration { return &b.exitAfter })(b, v)
	}},
	{"exit-times", false, "N", "only the first N runs of the container end so; those after them do what their command says.", count(func(b *behaviour) *int { return &b.exitTimes })},
	{"oom-after", false, "DURATION", "the container is killed after this long for want of memory: 137, OOMKilled.", func(b *behaviour, v string) error {
		b.ooms = true
		return length(func(b *behaviour) *time.Duration { return &b.oomAfter })(b, v)
	}},
	{"oom-times", false, "N", "only the first N runs of the container are.", count(func(b *behaviour) *int { return &b.oomTimes })},
	{"term", false, "exit, ignore or DURATION", "on SIGTERM the container ends at once, not at all (it is killed after the grace period), or after this long.", parseTerm},
	{"term-exit", false, "CODE", "with which exit code it ends then; without it, 143.", exitCode(func(b *behaviour) (*int32, *bool) { return &b.termExit, &b.termExits })},
	{"stop-error", false, "TEXT", "StopContainer fails with this text after the grace period, and what else wants the container to end fails at once: it cannot be killed.", text(func(b *behaviour) *string { return &b.stopError })},
	{"stop-times", false, "N", "how often; without it, always.", count(func(b *behaviour) *int { return &b.stopTimes })},
	{"ready-after", false, "DURATION or forever", "until then its ports are closed, and commands run in it that are not understood fail.", length(func(b *behaviour) *time.Duration { return &b.readyAfter })},
	{"unhealthy-after", false, "DURATION", "from then on HTTP answers 500, and commands run in it that are not understood fail.", length(func(b *behaviour) *time.Duration { return &b.unhealthyAfter })},
	{"http-status", false, "CODE or /PATH=CODE,...", "what HTTP requests are answered with, by path.", parseHTTPStatus},
	{"ports", false, "N,...", "ports that the container listens on, beside those of its command, or those that it declares if its command is not understood.", parsePorts},
	{"exec-exit", false, "CODE", "the exit code of every command that is run in the container, by health probes and hooks too.", exitCode(func(b *behaviour) (*int32, *bool) { return &b.execExit, &b.execExits })},
	{"exec-output", false, "TEXT", "what such a command prints.", text(func(b *behaviour) *string { return &b.execOutput })},
	{"exec-delay", false, "DURATION or forever", "how long each command takes longer.", length(func(b *behaviour) *time.Duration { return &b.execDelay })},
	{"log", false, "TEXT", "what the container prints when it starts.", text(func(b *behaviour) *string { return &b.log })},
	{"log-every", false, "DURATION", "it prints that again and again.", length(func(b *behaviour) *time.Duration { return &b.logEvery })},
	{"message", false, "TEXT", "the termination message that it leaves.", text(func(b *behaviour) *string { return &b.message })},
	{"cpu", false, "QUANTITY", "the cores it uses, such as 250m, for statistics.", quantity(func(b *behaviour) *int64 { return &b.cpu }, (*resource.Quantity).MilliValue)},
	{"memory", false, "QUANTITY", "its working set, such as 64Mi, for statistics.", quantity(func(b *behaviour) *int64 { return &b.memory }, (*resource.Quantity).Value)},
}

// Settings returns all settings, in the order of the documentation.
func Settings() []Setting { return slices.Clone(settings) }

func settingByName(name string) (Setting, bool) {
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return settings[i], true
}

// apply sets a value in a behaviour.
func (s Setting) apply(b *behaviour, value string) error {
	if err := s.parse(b, value); err != nil {
		return fmt.Errorf("%q is not %s: %w", value, s.Value, err)
	}
	return nil
}

type parser = func(*behaviour, string) error

// maxTextValue bounds a text, in bytes.
const maxTextValue = 4 << 10

func text(field func(*behaviour) *string) parser {
	return func(b *behaviour, v string) error {
		if v == "" || len(v) > maxTextValue {
			return fmt.Errorf("give 1 to %d bytes", maxTextValue)
		}
		*field(b) = v
		return nil
	}
}

func glob(field func(*behaviour) *string) parser {
	return func(b *behaviour, v string) error {
		if v == "" {
			return fmt.Errorf("give a pattern of * and ?")
		}
		*field(b) = v
		return nil
	}
}

func oneOf(field func(*behaviour) *string, values ...string) parser {
	return func(b *behaviour, v string) error {
		if !slices.Contains(values, v) {
			return fmt.Errorf("there is no such kind")
		}
		*field(b) = v
		return nil
	}
}

func length(field func(*behaviour) *time.Duration) parser {
	return func(b *behaviour, v string) error {
		if v == "forever" || v == "never" {
			*field(b) = forever
			return nil
		}
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > forever {
			return fmt.Errorf("give a time such as 500ms or 1m30s")
		}
		*field(b) = d
		return nil
	}
}

func count(field func(*behaviour) *int) parser {
	return func(b *behaviour, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return fmt.Errorf("give a count from 1")
		}
		*field(b) = n
		return nil
	}
}

func exitCode(field func(*behaviour) (*int32, *bool)) parser {
	return func(b *behaviour, v string) error {
		n, err := strconv.ParseUint(v, 10, 8)
		if err != nil {
			return fmt.Errorf("give an exit code from 0 to 255")
		}
		code, set := field(b)
		*code, *set = int32(n), true
		return nil
	}
}

func quantity(field func(*behaviour) *int64, unit func(*resource.Quantity) int64) parser {
	return func(b *behaviour, v string) error {
		q, err := resource.ParseQuantity(v)
		if err != nil || q.Sign() <= 0 {
			return fmt.Errorf("give an amount such as 100m or 64Mi")
		}
		*field(b) = unit(&q)
		return nil
	}
}

func parseTerm(b *behaviour, v string) error {
	b.termAfter = 0
	switch v {
	case "exit", "ignore":
		b.term = v
		return nil
	}
	b.term = "after"
	return length(func(b *behaviour) *time.Duration { return &b.termAfter })(b, v)
}

func parseHTTPStatus(b *behaviour, v string) error {
	all := map[string]int{}
	for _, one := range strings.Split(v, ",") {
		where, code, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok {
			where, code = "", where
		}
		n, err := strconv.Atoi(code)
		if err != nil || n < 200 || n > 599 || ok && !strings.HasPrefix(where, "/") {
			return fmt.Errorf("give a code from 200 to 599, or paths with codes")
		}
		all[where] = n
	}
	b.httpStatus = all
	return nil
}

func parsePorts(b *behaviour, v string) error {
	var all []int
	for _, one := range strings.Split(v, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(one), 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("give ports from 1 to 65535")
		}
		all = append(all, int(n))
	}
	b.ports = all
	return nil
}
