package logstory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/nodelog"
)

// TestFetched: the logs of a node on another machine tell the story that they tell as files, whatever the zone of its
// clock: by when a file was last written to, or by the times that journalctl puts before the lines of a query.
func TestFetched(t *testing.T) {
	kubelet, containerd := readText(t, "testdata/v4.log"), readText(t, "testdata/v4-containerd.log")
	elsewhere := recorded
	elsewhere.Zone = time.FixedZone("", 5*3600+45*60)
	_, there := story(t, elsewhere, "testdata/v4.log", "testdata/v4-containerd.log")
	want := print(there)
	lines := strings.Split(strings.TrimSpace(kubelet), "\n")
	last, err := time.Parse("0102 15:04:05.000000", lines[len(lines)-1][1:21])
	if err != nil {
		t.Fatal(err)
	}
	last = time.Date(recorded.Near.Year(), last.Month(), last.Day(), last.Hour(), last.Minute(), last.Second(), last.Nanosecond(), elsewhere.Zone)
	for name, files := range map[string][]nodelog.File{
		"files":   {{Name: "kubelet.log", Written: last.Add(2 * time.Second)}, {Name: "containerd.log", Written: last}},
		"queries": {{Name: "kubelet"}, {Name: "containerd"}},
	} {
		o := Options{Near: recorded.Near, Fetch: func(node string, keep nodelog.Keep) error {
			if node != "w" {
				t.Errorf("the node is %s", node)
			}
			for i, text := range []string{kubelet, containerd} {
				if files[i].Written.IsZero() {
					text = asJournalOf(text, elsewhere.Zone)
				}
				files[i].Text = strings.NewReader(text)
				if ok, err := keep(files[i]); !ok || err != nil {
					t.Errorf("%s: %s is no log: %v", name, files[i].Name, err)
				}
			}
			ok, err := keep(nodelog.File{Name: "apt", Text: strings.NewReader("none")})
			if ok {
				t.Error("what is no log is one")
			}
			return err
		}}
		if s, all := story(t, o, "node/w"); print(all) != want || s.Header().Selection != "w" {
			t.Errorf("%s: the story is another, of %s", name, s.Header().Selection)
		}
	}
}

// asJournalOf puts the time in UTC, the host and the process before each line with klog's header, as
// journalctl -o short-precise --utc does.
func asJournalOf(text string, zone *time.Location) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > 21 {
			if at, err := time.ParseInLocation("2006 0102 15:04:05.000000", "2026 "+line[1:21], zone); err == nil {
				out.WriteString(at.UTC().Format("Jan _2 15:04:05.000000") + " w kubelet[7]: ")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// TestNodeOf: a file comes before a node of its name.
func TestNodeOf(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, want := range map[string]string{"node/w": "w", "node/": "", "node/a/b": "", "w": "", "./node/w": ""} {
		if node, is := NodeOf(name); node != want || is != (want != "") {
			t.Errorf("%s is node %q", name, node)
		}
	}
	if err := os.Mkdir("node", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("node", "w"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if node, is := NodeOf("node/w"); is {
		t.Errorf("a file is node %q", node)
	}
}
