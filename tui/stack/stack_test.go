package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/view"
)

// debugged plays the screen, and an agent with a debugger.
type debugged struct {
	session.Control
	lang    words.Lang
	asked   []string
	fail    error
	without string
	ended   bool // the hold
	refused error
	stepped []string
	logged  []string // places at which values are to be logged
	others  int      // goroutines of the pod besides the one that is held
}

func (d *debugged) Text(t probes.Text) string   { return d.lang.In(t) }
func (d *debugged) Held(*agentpb.HoldInfo) bool { return !d.ended }
func (d *debugged) CanLog() bool                { return true }
func (d *debugged) Log(place string)            { d.logged = append(d.logged, place) }
func (d *debugged) Point(_ string, line int) screen.Point {
	if line == 2189 {
		return screen.Point{Logs: true, Last: "attempt=7"}
	}
	return screen.Point{}
}
func (d *debugged) Kubelet() string                { return "v1.36.3" }
func (d *debugged) Refused(_ *Page, refused error) { d.refused = refused }

func (d *debugged) Look(ctx context.Context, r *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	asked := strings.TrimSpace(fmt.Sprint(r.Frame, " ", r.Expression))
	if r.Goroutine != 0 {
		asked += fmt.Sprint(" of ", r.Goroutine)
	}
	d.asked = append(d.asked, asked)
	if d.fail != nil {
		return nil, d.fail
	}
	out := &agentpb.LookResponse{Step: "sync.pod", Stood: durationpb.New(7 * time.Millisecond), Without: d.without}
	for i := range d.others {
		out.Goroutines = append(out.Goroutines, &agentpb.Goroutine{Id: uint64(100 + i), Step: "volume.mount"})
	}
	for i := range 12 {
		out.Frames = append(out.Frames, &agentpb.StackFrame{Function: fmt.Sprintf("k8s.io/kubernetes/pkg/kubelet.f%d", i), File: "/src/kubelet.go", Line: int32(i)})
	}
	switch {
	case d.without != "":
	case r.Expression != "":
		out.Value = &agentpb.Variable{Value: strings.Repeat("long ", 40) + "end"}
	default:
		for i := range 30 {
			out.Locals = append(out.Locals, &agentpb.Variable{Name: fmt.Sprintf("v%d", i), Value: fmt.Sprintf("%d of frame %d\x1b[2J", i, r.Frame)})
		}
	}
	return out, nil
}

func (d *debugged) Step(ctx context.Context, r *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	d.stepped = append(d.stepped, r.Mode.String())
	if d.fail != nil {
		return nil, d.fail
	}
	at := &agentpb.StackFrame{Function: syncPod, File: "/go/pkg/mod/k8s.io/kubernetes@v1.36.3/pkg/kubelet/kubelet.go", Line: 2189}
	return &agentpb.HoldInfo{Id: 2, Step: "sync.pod", On: agentpb.Inside, Pod: &agentpb.Pod{Namespace: "default", Name: "web", Uid: "u"}, Place: at}, nil
}

const syncPod = "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod"

// open opens a page, whose first question is then under way.
func (d *debugged) open(t *testing.T) (*Page, tea.Cmd) {
	t.Helper()
	if d.lang == "" {
		d.lang = words.English
	}
	h := &agentpb.HoldInfo{Id: 1, Step: "sync.pod", Pod: &agentpb.Pod{Namespace: "default", Name: "web", Uid: "u"}}
	return Open(t.Context(), d, d, h)
}

// answer answers questions until there are none.
func answer(cmd tea.Cmd) {
	for cmd != nil {
		cmd = cmd().(Msg).Take()
	}
}

func press(p *Page, keys ...string) (cmd tea.Cmd, done bool) {
	codes := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab}
	for _, k := range keys {
		key := tea.Key{Code: codes[k]}
		if key.Code == 0 {
			key = tea.Key{Code: []rune(k)[0], Text: k}
		}
		cmd, done = p.Key(tea.KeyPressMsg(key))
	}
	return cmd, done
}

func styles(w, h int) *view.Styles {
	return view.NewStyles(view.Options{Width: w, Height: h, Glyphs: view.ASCII, NoColour: true})
}

func look(p *Page, w, h int) string {
	st := styles(w, h)
	return ansi.Strip(view.Draw(&screen.Screen{Lang: words.English, Over: p.Overlay(st)}, st))
}

func sees(t *testing.T, p *Page, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(look(p, 80, 24), s) {
			t.Errorf("%q is not to be seen:\n%s", s, look(p, 80, 24))
		}
	}
}

func TestPage(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	sees(t, p, "Stack and variables", "default/web", "held at sync.pod", "waiting for the debugger")
	answer(cmd)
	sees(t, p, "the kubelet stood still for 7 ms for this", "> 0 kubelet.f0", "kubelet.go:0", "local variables", `v0 = 0 of frame 0\x1b[2J`)
	cmd, _ = press(p, "down")
	sees(t, p, "> 1 kubelet.f1", "waiting for the debugger")
	if strings.Contains(look(p, 80, 24), "of frame 0") {
		t.Error("the variables of another frame are shown with the chosen one")
	}
	answer(cmd)
	sees(t, p, "0 of frame 1")
	press(p, "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown", "pgdown")
	sees(t, p, "v29 = ")
	press(p, "pgup")
	if strings.Contains(look(p, 80, 24), "v29 = ") {
		t.Error("a page up from the end shows the end still")
	}
	d.ended = true
	sees(t, p, "no longer held; it was at sync.pod")
	if _, done := press(p, "esc"); !done {
		t.Error("esc does not leave")
	}
}

// TestOneQuestion: while a question is under way, another one waits. Only the one that was chosen last is asked.
func TestOneQuestion(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	answer(cmd)
	cmd, _ = press(p, "down")
	if more, _ := press(p, "down", "down", "down"); more != nil {
		t.Error("a second question is asked while there is one")
	}
	answer(cmd)
	if want := []string{"0", "1", "4"}; !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
	sees(t, p, "of frame 4")
}

func TestPrint(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	if press(p, "p"); p.input != nil {
		t.Error("an expression is asked for before there is a frame")
	}
	answer(cmd)
	press(p, "p", "v", "2", "tab")
	sees(t, p, "print v20")
	cmd, done := press(p, "esc")
	if done || cmd != nil || p.input != nil {
		t.Error("esc does not leave the line alone")
	}
	cmd, _ = press(p, "p", "x", "enter")
	answer(cmd)
	sees(t, p, "value", "x = long long", "long end", "local variables")
	d.fail = errors.New("there is no y")
	cmd, _ = press(p, "p", "y", "enter")
	answer(cmd)
	sees(t, p, "x there is no y", "x = long long")
	if want := []string{"0", "0 x", "0 y"}; !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
}

func TestRefused(t *testing.T) {
	d := &debugged{fail: errors.New("no debugger")}
	_, cmd := d.open(t)
	answer(cmd)
	if d.refused == nil {
		t.Error("a page without an answer stays")
	}

	d = &debugged{}
	p, cmd := d.open(t)
	answer(cmd)
	d.fail = errors.New("it went on")
	cmd, _ = press(p, "down")
	answer(cmd)
	sees(t, p, "x it went on", "> 0 kubelet.f0", "of frame 0")

	cmd, _ = press(p, "down")
	press(p, "esc")
	answer(cmd)
	if d.refused != nil {
		t.Error("a page that was left is refused")
	}
}

// TestWithout: if no variables are known, choosing another frame asks no question.
func TestWithout(t *testing.T) {
	d := &debugged{without: "this kubelet has no debug information", lang: words.Chinese}
	p, cmd := d.open(t)
	answer(cmd)
	if cmd, _ := press(p, "end"); cmd != nil {
		t.Error("asks for what is not known")
	}
	sees(t, p, "this kubelet has no debug information", ">11 kubelet.f11", "停在 sync.pod", "调用栈与变量")
}

// TestEverySize: if there is room for three lines, the chosen frame is seen.
func TestEverySize(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	answer(cmd)
	cmd, _ = press(p, "end")
	answer(cmd)
	press(p, "p")
	for w := 1; w <= 120; w += 7 {
		for h := 1; h <= 40; h++ {
			if text := look(p, w, h); w >= 40 && h >= 8 && !strings.Contains(text, ">11 kubelet") {
				t.Fatalf("%dx%d:\n%s", w, h, text)
			}
		}
	}
}

// TestLines: the pod goes on by line, and the page shows its new place.
func TestLines(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	if step, _ := press(p, "n"); step != nil {
		t.Error("it goes on before there is an answer")
	}
	answer(cmd)
	sees(t, p, "n next line", "s into", "o out")
	for _, key := range []string{"n", "s", "o"} {
		cmd, _ = press(p, key)
		sees(t, p, "on its way to the next line")
		if more, _ := press(p, "n"); more != nil {
			t.Error("it goes on twice at once")
		}
		answer(cmd)
	}
	if want := []string{"LINE_OVER", "LINE_INTO", "LINE_OUT"}; !slices.Equal(d.stepped, want) {
		t.Errorf("stepped %q", d.stepped)
	}
	sees(t, p, "held at sync.pod, kubelet.go:2189", "> 0 kubelet.f0")
	d.fail = errors.New("there is no line")
	cmd, _ = press(p, "n")
	answer(cmd)
	sees(t, p, "x there is no line", "held at sync.pod, kubelet.go:2189")
	d.ended = true
	if step, _ := press(p, "n"); step != nil {
		t.Error("a pod goes on that is not held")
	}
	if strings.Contains(look(p, 80, 24), "next line") {
		t.Error("there are keys to step a pod that is not held")
	}
}

// TestGoroutines: the pod's goroutines are shown one after the other.
func TestGoroutines(t *testing.T) {
	d := &debugged{others: 3}
	p, cmd := d.open(t)
	answer(cmd)
	sees(t, p, "goroutine 100 (1/3): volume.mount", "Tab goroutine")
	cmd, _ = press(p, "tab")
	answer(cmd)
	sees(t, p, "goroutine 101 (2/3)")
	cmd, _ = press(p, "down")
	answer(cmd)
	for range 2 {
		cmd, _ = press(p, "tab")
		answer(cmd)
	}
	sees(t, p, "goroutine 100 (1/3)")
	if want := []string{"0", "0 of 101", "1 of 101", "0 of 102", "0"}; !slices.Equal(d.asked, want) {
		t.Errorf("asked %q, want %q", d.asked, want)
	}
}

// TestSource: the source is shown around the line where the chosen function is.
func TestSource(t *testing.T) {
	p := &Page{desk: &debugged{lang: words.English}, known: &agentpb.LookResponse{Frames: []*agentpb.StackFrame{
		{Function: syncPod, File: "/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go", Line: 2189},
		{Function: syncPod + ".func2", File: "/src/k8s.io/kubernetes/pkg/kubelet/kubelet.go", Line: 2020},
		{Function: "runtime.goexit", File: "/usr/local/go/src/runtime/asm_amd64.s", Line: 1771},
	}}}
	here := func() (text string) {
		for _, v := range p.source() {
			if v.Here {
				text = v.Text
			}
		}
		return text
	}
	if got := here(); !strings.Contains(got, "makePodDataDirs") {
		t.Errorf("the line is %q", got)
	}
	if p.frame = 1; here() == "" {
		t.Error("a literal of the function has no source")
	}
	if p.frame = 2; len(p.source()) > 0 {
		t.Errorf("the runtime's source is %v", p.source())
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod": "kubelet.(*Kubelet).SyncPod",
		"runtime.goexit":               "runtime.goexit",
		"k8s.io/a/b.F[k8s.io/c/d.Pod]": "b.F[k8s.io/c/d.Pod]",
		"":                             "",
	} {
		if got := short(name); got != want {
			t.Errorf("short(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestLogAtLine: v asks what to log at the line of the chosen frame, and the last values stand below a line with a log.
func TestLogAtLine(t *testing.T) {
	d := &debugged{}
	p, cmd := d.open(t)
	answer(cmd)
	p.known.Frames[0] = &agentpb.StackFrame{Function: syncPod, File: "/go/pkg/mod/k8s.io/kubernetes@v1.36.3/pkg/kubelet/kubelet.go", Line: 2189}
	p.Key(tea.KeyPressMsg{Code: 'v', Text: "v"})
	if !slices.Equal(d.logged, []string{"pkg/kubelet/kubelet.go:2189"}) {
		t.Errorf("asked for logs at %q", d.logged)
	}
	values := p.Overlay(view.NewStyles(view.Options{Width: 100, Height: 40})).Stack.Values
	at := slices.IndexFunc(values, func(v screen.StackValue) bool { return v.Number == 2189 })
	if at < 0 || !values[at].Point.Logs || !values[at+1].Logged || values[at+1].Text != "attempt=7" {
		t.Errorf("the values are %v", values)
	}
}
