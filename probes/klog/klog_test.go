package klog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	oracle "k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func pod(namespace, name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// write returns what klog itself writes.
func write(log func(logr.Logger)) string {
	var b bytes.Buffer
	log(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&b), textlogger.Verbosity(10))))
	return b.String()
}

// TestOracle checks that what klog writes is read as it was meant.
func TestOracle(t *testing.T) {
	text := write(func(l logr.Logger) {
		l.Error(errors.New("a \"quoted\" error\nof two lines"), "Error syncing pod, skipping", "pod", oracle.KRef("default", "web"), "podUID", "u-1",
			"event", map[string]any{"ID": "x y", "Type": "ContainerDied"}, "pods", oracle.KObjSlice([]*v1.Pod{pod("a", "b"), pod("c", "d")}),
			"terminal", false, "took", 3*time.Second, "twice", 1, "twice", 2, "forgotten")
	})
	e, ok := Parse(strings.TrimSuffix(text, "\n"), time.Now().UTC())
	if !ok || e.Level != 'E' || e.Message != "Error syncing pod, skipping" || !strings.HasPrefix(e.Where, "klog_test.go:") {
		t.Fatalf("%q is read as %+v", text, e)
	}
	for key, want := range map[string]string{
		"err": "a \"quoted\" error\nof two lines", "pod": "default/web", "podUID": "u-1", "event": `{"ID":"x y","Type":"ContainerDied"}`,
		"pods": `["a/b","c/d"]`, "terminal": "false", "took": "3s", "twice": "2", "forgotten": "",
	} {
		if got, has := e.Value(key); got != want || !has {
			t.Errorf("%s is %q, want %q, in %q", key, got, want, text)
		}
	}
}

func FuzzOracle(f *testing.F) {
	f.Add("SyncPod enter", "pod", "default/web", "two\nlines", 7)
	f.Add("", "k", "\x00\xff >", "\n >", -1)
	f.Fuzz(func(t *testing.T, message, key, one, two string, n int) {
		if !beginsKey(key+"=") || strings.Contains(key, "=") || key == "err" || key == "last" || key == "n" || strings.Contains(message, "\n") || len(message)+len(one)+len(two) > 1<<12 {
			t.Skip()
		}
		text := write(func(l logr.Logger) {
			l.Info(message, key, one, "n", n, "last", two)
			l.Info("next")
		})
		var whole []string
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if Continues(line) && len(whole) > 0 {
				whole[len(whole)-1] += "\n" + line
				continue
			}
			whole = append(whole, line)
		}
		if len(whole) != 2 {
			t.Fatalf("%q has %d entries", text, len(whole))
		}
		e, ok := Parse(whole[0], time.Now().UTC())
		if !ok || e.Message != message {
			t.Fatalf("%q is read as %+v", whole[0], e)
		}
		for k, want := range map[string]string{key: one, "n": fmt.Sprint(n), "last": two} {
			if got := e.Text(k); strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") && want != missing {
				t.Errorf("%s is %q, want %q, in %q", k, got, want, whole[0])
			}
		}
	})
}

// FuzzParse checks that no text makes the parser fail, and that an entry is never later than a day after now.
func FuzzParse(f *testing.F) {
	f.Add(`I1125 15:06:00.544746    1391 kubelet.go:2028] "SyncPod enter" pod="default/web" podUID="14ae"`)
	f.Add(`{"ts":1764083160544.7463,"caller":"kubelet.go:2028","msg":"x","v":4,"pod":{"name":"web","namespace":"default"}}`)
	f.Add("E0229 23:59:59.000000 1 a.go:1] printf style")
	f.Add(`I0102 15:04:05.000000 1 a.go:1] "m" k=<` + "\n\ta\n\tb\n > l={\"a\": 1} m=[a b] n=")
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		e, ok := Parse(text, now)
		if ok && !strings.HasPrefix(text, "{") && (e.Time.After(now.Add(24*time.Hour)) || e.Time.Before(now.AddDate(-9, 0, 0))) {
			t.Errorf("%q is of %v", text, e.Time)
		}
	})
}

func TestTime(t *testing.T) {
	near := time.Date(2027, 1, 1, 0, 0, 10, 0, time.FixedZone("", 3600))
	for head, want := range map[string]string{
		"I1231 23:59:59.000001": "2026-12-31T22:59:59.000001Z",
		"I0101 00:00:00.000000": "2026-12-31T23:00:00Z",
		"I0229 12:00:00.000000": "2024-02-29T11:00:00Z",
	} {
		e, ok := Parse(head+" 7 a.go:1] x", near)
		if got := e.Time.Format(time.RFC3339Nano); !ok || got != want {
			t.Errorf("%s is of %s, want %s", head, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	e, ok := Parse(`{"ts":1764083160544.7463,"caller":"kubelet/kubelet.go:2028","msg":"SyncPod enter","v":4,"pod":{"name":"web","namespace":"default"},"podUID":"u","n":3}`, time.Now())
	if !ok || e.Level != 'I' || e.Message != "SyncPod enter" || e.Text("pod") != "default/web" || e.Text("podUID") != "u" || e.Text("n") != "3" {
		t.Errorf("read %+v", e)
	}
	if want := time.Unix(0, 1764083160544746300).UTC(); !e.Time.Equal(want) {
		t.Errorf("it is of %v, want %v", e.Time, want)
	}
	if e, _ := Parse(`{"ts":1764083160544,"caller":"a.go:1","msg":"x","err":"bad"}`, time.Now()); e.Level != 'E' || e.Text("err") != "bad" {
		t.Errorf("read %+v", e)
	}
}

// TestOthers checks that lines of other programs are no entries.
func TestOthers(t *testing.T) {
	for _, line := range []string{
		"", "I1125", "plain text", `{"level":"info"}`, `{"msg":"x"}`, "I1125 15:06:00.544746 x kubelet.go:1] y", "I1325 15:06:00.544746 1 kubelet.go:1] y",
		"I1125 15:06:00.544746    1391 a b] y", `time="2026-11-25T15:06:00Z" level=info msg="x"`,
	} {
		if e, ok := Parse(line, time.Now()); ok {
			t.Errorf("%q is read as %+v", line, e)
		}
	}
}
