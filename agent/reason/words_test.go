package reason

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestProblems: each code has a text in each language, with the same arguments.
func TestProblems(t *testing.T) {
	for n, name := range agentpb.Problem_Code_name {
		code := agentpb.Problem_Code(n)
		text, ok := problems[code]
		if !ok {
			if code != agentpb.Problem_UNSPECIFIED {
				t.Errorf("%s has no text", name)
			}
			continue
		}
		en, zh := probes.Arguments(text.En), probes.Arguments(text.Zh)
		slices.Sort(en)
		slices.Sort(zh)
		if text.En == "" || text.Zh == "" || !slices.Equal(en, zh) {
			t.Errorf("%s: %q, %q", name, text.En, text.Zh)
		}
	}
}

// TestProblemText: arguments are put in in the language of the text. Names in braces within an argument stay as they
// are.
func TestProblemText(t *testing.T) {
	p := &agentpb.Problem{
		Code: agentpb.Problem_NO_STEP_ALLOWS, Args: map[string]string{"on": "exit", "step": "{cause}"},
		Cause: &agentpb.Problem{Code: agentpb.Problem_STEP_RULE, Args: map[string]string{"step": "worker.update"}},
	}
	rule := probes.MustLoad().Step("worker.update").Hold.Why
	want := probes.Text{En: "no pod can be held at exit of {cause}: " + rule.En, Zh: "不能在 {cause} 返回时停住 Pod：" + rule.Zh}
	if got := Problem(p); got != want {
		t.Errorf("%q", got)
	}
	ended := &agentpb.Problem{Code: agentpb.Problem_WAIT_ENDED, Args: map[string]string{"pod": "a/b", "reason": agentpb.ReleaseNodeShutdown}}
	if got := Problem(ended); got != text("pod a/b is not held: the node shuts down", "Pod a/b 没有被停住：节点正在关机") {
		t.Errorf("%q", got)
	}
	if got := Problem(&agentpb.Problem{Code: agentpb.Problem_POD_GONE}); got.En != "pod ? is gone from this node" {
		t.Errorf("%q", got)
	}
	for _, p := range []*agentpb.Problem{nil, {Code: 9999}} {
		if got := Problem(p); got != (probes.Text{}) {
			t.Errorf("%v says %q", p, got)
		}
	}
}

// TestReasons: each reason of the protocol has a text in each language. The reason of an old agent is shown as it is.
func TestReasons(t *testing.T) {
	for name, code := range constants(t, "../agentpb/reasons.go", "Release") {
		if r, ok := reasons[code]; !ok || r.En == "" || r.Zh == "" {
			t.Errorf("%s, %q, has the text %q", name, code, r)
		}
	}
	for want, fields := range map[string]map[string]any{
		"its lease is over": {"reason": "its lease is over"},
		"timer grace is about to run out: the kubelet kills": {"reason": "timer grace is about to run out: the kubelet kills"},
		"租约到期": {"reason": agentpb.ReleaseLease, "timer": "grace"},
		"kubelet 的计时器 grace 即将到期：" + Timer("grace").Zh: {"reason": agentpb.ReleaseTimer, "timer": "grace"},
		"kubelet 的计时器 new 即将到期：new":                    {"reason": agentpb.ReleaseTimer, "timer": "new"},
		"": {},
	} {
		if got := Released(fields).Zh; got != want {
			t.Errorf("%v is %q, want %q", fields, got, want)
		}
	}
}

// constants returns the constants of a file whose names begin with a prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, prefix) {
			out[v.Names[0].Name] = strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatalf("%s has no constants %s...", file, prefix)
	}
	return out
}

// TestCauses: each cause of a hold has a text.
func TestCauses(t *testing.T) {
	for n := range agentpb.Cause_name {
		h := &agentpb.HoldInfo{Cause: agentpb.Cause(n), Breakpoint: 7}
		unknown := Cause(h) == Cause(&agentpb.HoldInfo{})
		if unknown != (h.Cause == agentpb.Cause_CAUSE_UNSPECIFIED) || Cause(h).Zh == "" {
			t.Errorf("%s is %q", h.Cause, Cause(h))
		}
	}
	if got := Cause(&agentpb.HoldInfo{Cause: agentpb.Cause_CAUSE_BREAKPOINT, Breakpoint: 7}).En; got != "breakpoint 7" {
		t.Error(got)
	}
}

// TestErrors: the code of an error is found however the error is wrapped, and the words are those of the error that has
// them.
func TestErrors(t *testing.T) {
	st, err := status.New(codes.NotFound, "x").WithDetails(&agentpb.Problem{Code: agentpb.Problem_NOT_HELD})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		code agentpb.Problem_Code
	}{
		"plain":   {st.Err(), agentpb.Problem_NOT_HELD},
		"wrapped": {fmt.Errorf("let go: %w", st.Err()), agentpb.Problem_NOT_HELD},
		"joined":  {errors.Join(context.Canceled, st.Err()), agentpb.Problem_NOT_HELD},
		"none":    {status.Error(codes.NotFound, "pod a/b is not held"), 0},
		"foreign": {errors.New("not held"), 0},
		"nil":     {nil, 0},
	} {
		if got := CodeOf(c.err); got != c.code {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Error(fmt.Errorf("a: %w", Errorf("%d here", "这里有 %d", 3))); got != text("3 here", "这里有 3") {
		t.Errorf("%q", got)
	}
	if got := Error(errors.New("x")); got != words.Same("x") {
		t.Errorf("%q", got)
	}
	if got := Note(map[string]any{"note": agentpb.NoteBreakpointFull, "breakpoint": int64(2), "held": int64(16)}); !strings.HasPrefix(got.En, "breakpoint 2 lets the pod pass: 16 pods") {
		t.Errorf("%q", got)
	}
}
