//go:build linux && (amd64 || arm64)

package park

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/pclntab"
)

// TestEntriesOfAll: a function that has a floating-point argument is refused at its entry, and none is refused for
// flags that it sets before it reads them. Before the stack grows, the compiler saves the arguments: so it is known
// which functions have one.
func TestEntriesOfAll(t *testing.T) { onEach(t, testEntriesOfAll) }

func testEntriesOfAll(t *testing.T, p *Program) {
	places, floats, compared := 0, 0, 0
	for f := range p.All() {
		_, why := p.entry(f)
		if why == nil {
			places++
		}
		saved, begins := facts(t, p, f)
		if saved != 0 && !isRuntime(f.Name) {
			floats++
			if why == nil {
				t.Errorf("%s has arguments in %016b, and is not refused", f.Name, saved)
			}
		}
		if begins != nil && begins.setsFlags && begins.straight {
			compared++
			if why != nil && strings.Contains(why.Text, "flags") {
				t.Errorf("%s begins with %v, and is refused: %v", f.Name, begins.text, why)
			}
		}
	}
	t.Logf("%d places, %d functions with numbers, %d that begin with a comparison", places, floats, compared)
	if places < 300 || floats < 4 || compared < 50 {
		t.Errorf("only %d places, %d functions with numbers and %d that begin with a comparison", places, floats, compared)
	}
}

// facts returns the vector registers that a function saves before its stack grows, and the instruction behind those that
// make its frame: on arm64 two more follow, for the frame pointer.
func facts(t *testing.T, p *Program, f *pclntab.Func) (saved vectors, begins *inst) {
	t.Helper()
	entry, err := p.text.Entry(f)
	if err != nil || f.MaxDelta() == 0 {
		return 0, nil
	}
	code, err := p.code(f)
	if err != nil {
		return 0, nil
	}
	more := 0
	if code[0].word != 0 {
		more = 2
	}
	var since vectors
	for n, i := range code {
		if behind := n - 1 - more; behind >= 0 && code[behind].PC == entry {
			begins = &code[n]
		}
		switch {
		case strings.HasPrefix(p.callee(&i), "runtime.morestack"):
			return since, begins
		case !i.straight:
			since = 0
		default:
			since |= i.reads
		}
	}
	return 0, begins
}

// TestFloatResults: a goroutine is not parked where a function returns a floating-point number. A function that only
// computes with such numbers, or calls such functions, is not refused.
func TestFloatResults(t *testing.T) { onEach(t, testFloatResults) }

func testFloatResults(t *testing.T, p *Program) {
	for name, refused := range map[string]bool{
		"main.half": true, "main.quarter": true, "main.lateFloat": true, "main.compares": false, "main.step": false, "main.other": false,
	} {
		places, why := p.Exits(name)
		if is := why != nil && why.Reason == Floats; is != refused {
			t.Errorf("the exits of %s are %v, %v", name, places, why)
		}
	}
	refused, all := 0, 0
	for f := range p.All() {
		switch _, why := p.exits(f); {
		case why == nil:
			all++
		case why.Reason == Floats:
			refused++
		}
	}
	t.Logf("%d functions have exits, %d return numbers", all, refused)
	if all < 300 || refused > all/20 {
		t.Errorf("%d functions have exits, and %d are taken to return numbers", all, refused)
	}
}
