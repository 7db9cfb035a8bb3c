package action

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/probes"
)

func match(text string) *alert.Match {
	at := time.Unix(1_800_000_000, 0)
	return &alert.Match{
		Alert: "err", Time: at, Pod: &probes.Pod{Namespace: "shop", Name: "web", UID: "u-web"},
		Parts: []alert.Part{{Part: "err", Time: at, Event: &probes.Event{Kind: probes.Exit, Step: "cri.PullImage", Error: text, DurationNs: 2e9, Fields: map[string]any{"image": "busybox"}}}},
	}
}

// program writes a shell script and returns its path.
func program(t *testing.T, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRun: the program gets the match, and no text in it is read as a command.
func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	r, err := NewRun(program(t, `
echo "$PODSTEP_NAMESPACE/$PODSTEP_POD $PODSTEP_UID $PODSTEP_STEP [$PODSTEP_STATE] $PODSTEP_TIME" >$OUT
echo "$PODSTEP_ALERT: $PODSTEP_TEXT" >>$OUT
echo "$PODSTEP_ERROR" >>$OUT
cat >>$OUT
`))
	if err != nil {
		t.Fatal(err)
	}
	evil := "$(touch " + out + ".evil); `id`; \x00 & '"
	if err := r.Do(t.Context(), match(evil)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(got), "\n", 4)
	want := []string{"shop/web u-web cri.PullImage [] 2027-01-15T08:00:00Z", "err: cri.PullImage failed after 2.00 s: ", strings.ReplaceAll(evil, "\x00", "")}
	if lines[0] != want[0] || !strings.HasPrefix(lines[1], want[1]) || lines[2] != want[2] {
		t.Errorf("the program got %q, want %q", lines, want)
	}
	var m alert.Match
	if err := json.Unmarshal([]byte(lines[3]), &m); err != nil || m.Parts[0].Event.Fields["image"] != "busybox" {
		t.Errorf("stdin has %v: %s", err, lines[3])
	}
	if _, err := os.Stat(out + ".evil"); err == nil {
		t.Error("a text was run as a command")
	}
}

// TestRunNode: a match of the node has no pod, and the variables are there.
func TestRunNode(t *testing.T) {
	r, err := NewRun(program(t, `[ "${PODSTEP_POD+there}$PODSTEP_POD" = there ] || exit 3`))
	if err != nil {
		t.Fatal(err)
	}
	m := match("x")
	m.Pod = nil
	if err := r.Do(t.Context(), m); err != nil {
		t.Error(err)
	}
}

// TestLongTexts: a text is cut to what a variable can have.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("容", 1_000_000)
	if v := variable(long); len(v) > runText || strings.Trim(v, "容") != "" {
		t.Errorf("a variable has %d bytes", len(v))
	}
	r, err := NewRun(program(t, "cat >/dev/null"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), match(long)); err != nil {
		t.Error(err)
	}
}

func TestRunFails(t *testing.T) {
	r, err := NewRun(program(t, "echo out; echo it is broken >&2; exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Do(t.Context(), match("x")); err == nil || err.Error() != "exit status 7: out\nit is broken" {
		t.Errorf("the error is %v", err)
	}
	if _, err := NewRun("no-such-program-of-podstep"); err == nil || !strings.Contains(err.Error(), "find program no-such-program-of-podstep: ") {
		t.Errorf("the error is %v", err)
	}
}

// answers makes a webhook whose server gives some answers, one after the other.
func answers(t *testing.T, codes ...int) (w *Webhook, bodies *[][]byte, pauses *[]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	bodies, pauses = &[][]byte{}, &[]time.Duration{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(r.UserAgent(), "podstep/") || r.URL.Path != "/secret" {
			t.Errorf("%s %s, %v, %v", r.Method, r.URL, r.Header, err)
		}
		code := codes[min(len(*bodies), len(codes)-1)]
		*bodies = append(*bodies, body)
		if code == http.StatusTemporaryRedirect {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	now := make(chan time.Time)
	close(now)
	w, err := NewWebhook(s.URL+"/secret", func(d time.Duration) <-chan time.Time {
		*pauses = append(*pauses, d)
		return now
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, bodies, pauses
}

func TestWebhook(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []int
		tries int
		want  string
	}{
		{"it takes the match", []int{204}, 1, ""},
		{"it has a problem that passes", []int{503, 429, 200}, 3, ""},
		{"it has a problem", []int{500}, 3, "the answer is 500 Internal Server Error, at 3 tries"},
		{"it refuses", []int{403}, 1, "the answer is 403 Forbidden"},
		{"it is elsewhere", []int{307}, 1, "the answer is 307 Temporary Redirect, to another address; podstep follows none, so name that one"},
	} {
		w, bodies, pauses := answers(t, c.codes...)
		err := w.Do(t.Context(), match("x"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(*bodies) != c.tries || len(*pauses) != c.tries-1 {
			t.Errorf("%s: %d tries, pauses %v", c.name, len(*bodies), *pauses)
		}
		for _, body := range *bodies {
			var m alert.Match
			if err := json.Unmarshal(body, &m); err != nil || m.Pod.Name != "web" || m.Parts[0].Event.Error != "x" {
				t.Errorf("%s: %v: %s", c.name, err, body)
			}
		}
	}
}

// TestWebhookUnreachable: no message has the address's path.
func TestWebhookUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	now := make(chan time.Time)
	close(now)
	w, err := NewWebhook(s.URL+"/secret", func(time.Duration) <-chan time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	err = w.Do(t.Context(), match("x"))
	if err == nil || !strings.Contains(err.Error(), "refused, at 3 tries") || strings.Contains(err.Error()+w.String(), "secret") {
		t.Errorf("%s: %v", w, err)
	}
	for _, bad := range []string{"", "hooks.example.com", "ftp://a/b", "https://", "http://%zz"} {
		if _, err := NewWebhook(bad, time.After); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}

// TestWebhookHangs: a server that does not answer is given up when podstep ends.
func TestWebhookHangs(t *testing.T) {
	asked, let := make(chan bool, 1), make(chan bool)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- true
		<-let
	}))
	defer s.Close()
	defer close(let)
	w, err := NewWebhook(s.URL, time.After)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Do(ctx, match("x")) }()
	<-asked
	cancel()
	if err := <-done; err == nil || err.Error() != "given up, because podstep ends" {
		t.Errorf("the error is %v", err)
	}
}

// TestLargeMatch: what is too large goes without the fields of its events.
func TestLargeMatch(t *testing.T) {
	m := match("x")
	m.Parts[0].Event.Fields["request"] = strings.Repeat("a", mostBytes)
	text, err := encode(m)
	if err != nil || len(text) > 2000 || m.Parts[0].Event.Fields == nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// pretended is an action that waits until a test lets it go on.
type pretended struct {
	began chan *alert.Match
	let   chan error
}

func (pretended) String() string { return "act" }
func (p pretended) Do(ctx context.Context, m *alert.Match) error {
	p.began <- m
	select {
	case err := <-p.let:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestQueue: one action at a time, with a pause between two, and failures end nothing.
func TestQueue(t *testing.T) {
	a := pretended{make(chan *alert.Match), make(chan error)}
	pauses, clock := make(chan time.Duration, 9), make(chan time.Time)
	reports := make(chan error, 9)
	q := NewQueue(a, Options{Pause: time.Second, After: func(d time.Duration) <-chan time.Time {
		pauses <- d
		return clock
	}, Report: func(err error) { reports <- err }})
	one, two := match("1"), match("2")
	q.Add(one)
	q.Add(two)
	if m := <-a.began; m != one || <-pauses != time.Second {
		t.Error("another match comes first")
	}
	a.let <- errors.New("broken")
	if err := <-reports; err.Error() != "act: broken" {
		t.Errorf("reported is %v", err)
	}
	select {
	case <-a.began:
		t.Error("the second action begins before the pause is over")
	case clock <- time.Time{}:
	}
	if m := <-a.began; m != two {
		t.Error("the second match does not come")
	}
	a.let <- nil
	if err := q.End(t.Context()); err == nil || err.Error() != "act: failed for 1 matches" {
		t.Errorf("the end is %v", err)
	}
}

// TestQueueIsFull: Add never waits, and what is dropped is counted and reported once.
func TestQueueIsFull(t *testing.T) {
	a := pretended{make(chan *alert.Match), make(chan error)}
	var reported []error
	q := NewQueue(a, Options{Report: func(err error) { reported = append(reported, err) }})
	q.Add(match("under way"))
	<-a.began
	for range mostWaiting + 5 {
		q.Add(match("x"))
	}
	if len(reported) != 1 || !strings.Contains(reported[0].Error(), "act: 64 matches wait for it already") {
		t.Errorf("reported is %v", reported)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.End(ctx); err == nil || err.Error() != "act: failed for 1 matches, and was not done for 69" {
		t.Errorf("the end is %v", err)
	}
}
