//go:build pictures

package pictures

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/picture"
	"github.com/podstep/podstep/tui/tuitest"
)

// colourful runs a program as in a terminal that has all colours. tmux keeps
// them, though it does not say so to what runs in it.
var colourful = []string{"env", "-u", "TMUX", "-u", "NO_COLOR", "-u", "ACCESSIBLE", "-u", "LC_ALL", "LANG=C.UTF-8", "XDG_CONFIG_HOME=/proc/none", "TERM=xterm-256color", "COLORTERM=truecolor"}

// shop is what there is to be seen.
const shop = "../examples/shop.yaml"

// TestPictures makes all pictures, one after the other, on one node.
func TestPictures(t *testing.T) {
	l := labtest.StartSim(t)
	s := &studio{t: t, lab: l}
	s.kubectl("create", "-f", shop, "-l", "app notin (api, db)")
	s.stuck()
	t.Run("held", func(t *testing.T) { s.on(t).held("held", "dark", picture.Dark) })
	t.Run("stuck", func(t *testing.T) { s.on(t).stuckPods() })
	t.Run("timeline", func(t *testing.T) { s.on(t).timeline() })
	t.Run("compare", func(t *testing.T) { s.on(t).compare() })
	t.Run("replay", func(t *testing.T) { s.on(t).replay() })
	t.Run("tour", func(t *testing.T) { s.on(t).tour() })
	t.Run("durations", func(t *testing.T) { s.on(t).durations() })
	t.Run("logged", func(t *testing.T) { s.on(t).logged() })
	t.Run("culprit", func(t *testing.T) { s.on(t).culprit() })
	t.Run("held-light", func(t *testing.T) { s.on(t).held("held-light", "light", picture.Light) })
}

// studio is a node that has its picture taken.
type studio struct {
	t   *testing.T
	lab *labtest.Lab
}

func (s *studio) on(t *testing.T) *studio { return &studio{t: t, lab: s.lab.For(t)} }

func (s *studio) kubectl(args ...string) {
	s.t.Helper()
	if out, err := s.lab.Kubectl(s.t.Context(), args...).CombinedOutput(); err != nil {
		s.t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// stuck waits until all of the shop that will run does, and the rest is stuck.
func (s *studio) stuck() {
	s.t.Helper()
	wait := func(what string, pods ...string) {
		s.kubectl(append([]string{"-n", "shop", "wait", "--timeout=2m", "--for", what}, pods...)...)
	}
	reason := func(waiting string) string {
		return "jsonpath={.status.containerStatuses[0].state.waiting.reason}=" + waiting
	}
	wait("condition=Ready", "pod", "-l", "app=web")
	wait("condition=Complete", "job/stocktake")
	wait(reason("CrashLoopBackOff"), "pod/payments")
	wait(reason("ImagePullBackOff"), "pod/cart")
}

// open opens podstep in a terminal of that size.
func (s *studio) open(width, height int, flags ...string) *camera {
	s.t.Helper()
	command := append([]string{labtest.Bin(s.t, "podstep"), "--socket", s.lab.State.Agent}, flags...)
	return s.run(width, height, command...)
}

func (s *studio) run(width, height int, command ...string) *camera {
	s.t.Helper()
	return &camera{s.t, width, height, tuitest.Start(s.t, width, height, nil, append(slices.Clone(colourful), command...)...)}
}

// camera is a terminal and its size.
type camera struct {
	t             *testing.T
	width, height int
	*tuitest.Terminal
}

// take writes the screen as a picture.
func (c *camera) take(name string, theme picture.Theme) {
	c.t.Helper()
	svg := picture.SVG(c.Colours(), c.width, c.height, picture.Options{Theme: theme, Title: "podstep"})
	if err := os.WriteFile(name+".svg", svg, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// choose selects a pod by the palette, and waits until its name heads the
// pipeline.
func (c *camera) choose(pod string) {
	c.t.Helper()
	c.Until("worst first")
	c.Press(":")
	c.Until("Commands, pods and steps")
	c.Type(pod)
	c.Press("Enter")
	c.Until("│ " + pod)
}

// until presses a key until a place is named above the panes, and looks each
// time where that led.
func (c *camera) until(key, place string) {
	c.t.Helper()
	last := ""
	c.UntilThat(place, func(screen string) bool {
		crumbs := strings.Split(screen, "\n")[1]
		if crumbs != last {
			last = crumbs
			if !strings.Contains(crumbs, place) {
				c.Press(key)
			}
		}
		return strings.Contains(crumbs, place)
	})
}

// held: a new pod is held before its sandbox, between pods that are stuck.
func (s *studio) held(name, flag string, theme picture.Theme) {
	s.kubectl("delete", "--ignore-not-found", "-f", shop, "-l", "app=api")
	c := s.open(120, 46, "--theme", flag)
	c.Until(" payments")
	c.breakpoint("shop/api", "RunPodSandbox")
	s.kubectl("create", "-f", shop, "-l", "app=api")
	c.Until("HELD")
	c.Press("J")
	c.Until("› shop/api")
	c.Until("s step")
	c.take(name, theme)
	c.Press("q")
	c.Until("End podstep?") // held pods go on
	c.Press("y")
	c.Usable()
}

// breakpoint adds one by keys.
func (c *camera) breakpoint(pod, step string) {
	c.Press("b")
	c.Until("Breakpoint")
	c.Press("Up", "Up", "Up", "Up", "Up", "Up", "C-u")
	c.Type(pod)
	c.Press("Down", "C-u")
	c.Type(step)
	c.Press("Tab")
	c.Until("cri." + step)
	c.Press("Down", "Down", "Down", "Down", "Down", "Enter")
	c.Until("breakpoint")
}

// stuckPods: why one of them is, in Chinese on a light ground, and on a small screen.
func (s *studio) stuckPods() {
	c := s.open(120, 36, "--theme", "light", "--lang", "zh")
	c.Until(" payments")
	c.take("zh-light", picture.Light)
	c.Press("q")
	c.Usable()

	c = s.open(80, 24)
	c.choose("shop/checkout")
	c.take("small", picture.Dark)
	c.Press("q")
	c.Usable()
}

// timeline: where the time of a pod's creation went.
func (s *studio) timeline() {
	c := s.open(200, 50)
	s.kubectl("create", "-f", shop, "-l", "app=db")
	s.kubectl("-n", "shop", "wait", "--timeout=2m", "--for", "condition=Ready", "pod/db")
	c.choose("shop/db")
	c.Press("t")
	c.Until("critical path")
	c.Press("g")
	c.until("j", "› create, sync 1")
	c.Press("l")
	c.Until("Create the sandbox")
	c.take("timeline", picture.Dark)
	c.Press("q")
	c.Usable()
}

// compare: two pods beside each other.
func (s *studio) compare() {
	c := s.open(120, 36)
	c.choose("shop/api")
	c.Press("D")
	c.Until("Compare with")
	c.Type("shop/db")
	c.Press("Enter")
	c.Until("Where the time went")
	c.take("compare", picture.Dark)
	c.Press("Escape")
	c.UntilGone("Where the time went")
	c.Press("q")
	c.Usable()
}

// replay: a file, stopped in the middle.
func (s *studio) replay() {
	file := filepath.Join(s.t.TempDir(), "shop.podstep")
	s.lab.Must("trace", "--for", "1s", "-w", file)
	c := s.run(120, 36, labtest.Bin(s.t, "podstep"), "replay", file)
	c.Until(" db")
	c.Press("0")
	c.Until("replay 00:00")
	c.Press("2")
	c.UntilGone("replay 00:00")
	c.take("replay", picture.Dark)
	c.Press("q")
	c.Usable()
}

// tour: a guided walk, half way.
func (s *studio) tour() {
	c := s.open(140, 42, "--tour", "creation")
	c.Until("n begins")
	c.Press(">", ">")
	for !strings.Contains(c.Screen(), "RunPodSandbox: the pod") {
		before := c.stop()
		c.Press("n")
		c.UntilThat("the stop after "+before, func(screen string) bool {
			return c.stop() != before && (strings.Contains(screen, "n goes on") || strings.Contains(screen, "n does it"))
		})
	}
	c.take("tour", picture.Dark)
	c.Press("C-c")
	c.Until("End podstep?") // the pod of the walk goes on
	c.Press("y")
	c.Usable()
}

// stop is where a guided walk is.
func (c *camera) stop() string {
	return regexp.MustCompile(`Walk .* \d+/\d+`).FindString(c.Screen())
}
