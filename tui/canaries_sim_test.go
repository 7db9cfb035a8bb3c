//go:build sim

package tui_test

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui"
	"github.com/podstep/podstep/tui/tuitest"
)

// camera makes a screen write pictures of itself into dir.
type camera struct {
	*tuitest.Terminal
	t   *testing.T
	dir string
}

// take presses the key for a picture. It returns the picture's text: as it is, and without line breaks.
func (c *camera) take() string {
	c.t.Helper()
	before := c.pictures()
	c.Press("C-s")
	c.UntilThat("a picture", func(string) bool { return len(c.pictures()) > len(before) })
	taken := c.pictures()
	taken = slices.DeleteFunc(taken, func(name string) bool { return slices.Contains(before, name) })
	var text []byte
	c.UntilThat("a whole picture", func(string) bool {
		text, _ = os.ReadFile(taken[0])
		return strings.HasSuffix(strings.TrimSpace(string(text)), "</svg>")
	})
	seen := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(text), ""))
	return seen + "\n" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \n\t│┃┆", r) {
			return -1
		}
		return r
	}, seen)
}

// pictures returns the pictures that were taken.
func (c *camera) pictures() []string {
	all, err := filepath.Glob(filepath.Join(c.dir, "podstep-*.svg"))
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

// TestSimPicturesOfCanaries: pictures of pods with known secrets contain none of the secrets. The pictures are of
// each view, of each error, and of the pages about a pod except its logs.
func TestSimPicturesOfCanaries(t *testing.T) {
	l := start(t)
	set := labtest.NewCanaries(t, l, "canary")
	set.CreateAll(t)
	for pod, reason := range map[string]string{"talker": "Started", "probed": "Unhealthy", "hooked": "Started", "pulled": "Failed", "misnamed": "InspectFailed"} {
		set.UntilEvents(t, pod, []string{reason})
	}
	c := &camera{t: t, dir: t.TempDir()}
	c.Terminal = tuitest.Start(t, 200, 50, utf8, "cd", c.dir, "&&", labtest.Bin(t, "podstep"), "--socket", l.State.Agent, "--kubeconfig", l.State.Kubeconfig)
	c.Until(" live ")
	c.Press("/")
	c.Type(set.Value("argument"))
	c.Until(set.Value("argument"))
	if len(set.FindString(c.take())) != 1 {
		t.Error("a secret that is seen is not found in the picture")
	}
	c.Escape(set.Value("argument"))
	for _, p := range set.Pods {
		c.Press(":")
		c.Until("Commands, pods and steps")
		c.Type(p.Name)
		c.Press("Enter")
		c.Until("› default/" + p.Name)
		look := func(what string, keys ...string) {
			c.Press(keys...)
			text := c.take()
			set.Silent(t, "a picture of "+what+" of "+p.Name, text)
			if !strings.Contains(text, p.Name) {
				t.Errorf("the picture of %s is not of %s", what, p.Name)
			}
		}
		look("the pipeline", "p", "=", "G")
		look("a step", "Tab", "k")
		for range 2 {
			look("an error", "]")
		}
		look("the timeline", "t")
		look("the events", "e", "G")
		look("an event", "k", "k")
		c.Press("w")
		c.UntilThat("causes, or that there are none", func(screen string) bool {
			return strings.Contains(screen, "Why") && !strings.Contains(screen, "asking")
		})
		look("the causes")
		for _, page := range tui.Pictured {
			if page.Key == "" {
				continue
			}
			c.Press(page.Key)
			c.Until(page.Title)
			c.UntilGone("asking")
			look(page.Title)
			look(page.Title, "G")
			c.Escape(page.Title)
		}
		c.Press("D")
		c.Until("Compare with another pod")
		c.Press("Enter")
		c.Until("compared: ")
		for range 3 {
			look("a comparison", "Tab")
		}
		c.Escape("compared: ")
		c.Press("p")
	}
	t.Logf("%d pictures are without any of %d secrets", len(c.pictures()), len(set.Names()))
	c.Press("C-c")
	c.Usable()
}
