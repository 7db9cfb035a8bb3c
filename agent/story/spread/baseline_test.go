package spread

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// TestBaseline: a baseline is read as it was written, and does not differ from itself.
func TestBaseline(t *testing.T) {
	h, s := load(t, "woven", history.DefaultLimit)
	rows := s.At(h.End()).Rows(h, 0, ByP99)
	b := &Baseline{Version: baselineVersion, Of: "web-*", Node: "node-1", Kubelet: "v1.36.3", Taken: time.Unix(1e9, 0).UTC(), SeenNs: 5}
	b.Keep(h, rows)
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBaseline(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, b) {
		t.Errorf("%+v\nwant %+v", got, b)
	}
	d := Against(got, h, rows)
	if len(d.Rows) == 0 || len(d.Few) == 0 || len(d.New) > 0 || len(d.Gone) > 0 {
		t.Fatalf("%d rows, few %v, new %v, gone %v", len(d.Rows), d.Few, d.New, d.Gone)
	}
	for _, r := range d.Rows {
		if r.P50 != 1 || r.P99 != 1 && r.P99 != 0 {
			t.Errorf("%s differs from itself: %v, %v", r.After.Step, r.P50, r.P99)
		}
	}
}

// TestEmptyBaseline: a baseline without a step can be read.
func TestEmptyBaseline(t *testing.T) {
	var file bytes.Buffer
	if err := (&Baseline{}).Write(&file); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadBaseline(&file); err != nil || len(b.Steps) != 0 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestAgainst(t *testing.T) {
	h, _ := stepsOf("a", "b", "c", "d", "e", "f")
	row := func(name string, calls int, p50, p99 time.Duration) Row {
		return Row{Step: h.StepNamed(name), Calls: calls, P50: p50, P90: p50, P99: p99, Max: p99, Sum: p99}
	}
	b := &Baseline{}
	b.Keep(h, []Row{row("a", 100, 10e6, 50e6), row("b", 20, 10e6, 50e6), row("c", 500, 10, 20), row("d", 19, 1, 1), row("e", 1, 1, 1)})
	d := Against(b, h, []Row{row("a", 100, 10e6, 100e6), row("b", 200, 2e6, 500e6), row("c", 500, 900, 999), row("d", 500, 1, 1), row("f", 9, 1, 1), {Step: h.StepNamed("e"), Open: 1}})
	var got []string
	for _, r := range d.Rows {
		got = append(got, fmt.Sprintf("%s %.2f %.2f", r.After.Step, r.P50, r.P99))
	}
	if want := []string{"b 0.20 0.00", "a 1.00 2.00", "c 1.00 1.00"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := fmt.Sprint(d.Few, d.New, d.Gone); got != "[d] [f] [e]" {
		t.Error(got)
	}
}

func TestSame(t *testing.T) {
	for times, want := range map[float64]bool{1: true, 1.03: true, 0.98: true, 1.05: false, 0.9: false} {
		if Same(times) != want {
			t.Errorf("%v times as long counts as the same: %v", times, !want)
		}
	}
}

const oneStep = `{"podstepDurations": 1, "steps": [{"step": "a", "calls": 1, "errors": 0, "p50Ns": 1, "p90Ns": 2, "p99Ns": 3, "maxNs": 3, "sumNs": 3}]}`

func TestBadBaselines(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {"", ErrNoBaseline.Error()},
		"a trace":          {"podstep-trace 1\n", ErrNoBaseline.Error()},
		"other JSON":       {`{"a": 1}`, ErrNoBaseline.Error()},
		"a list":           {`[1]`, ErrNoBaseline.Error()},
		"cut short":        {oneStep[:60], "it is cut short or damaged: unexpected end of JSON input"},
		"newer":            {`{"podstepDurations": 2}`, "it has version 2, and this podstep reads versions up to 1; take a newer podstep"},
		"version zero":     {`{"podstepDurations": 0}`, ErrNoBaseline.Error()},
		"too large":        {strings.Repeat(" ", maxBaseline+1), "it has more than 4 MiB"},
		"wrong type":       {strings.Replace(oneStep, `"calls": 1`, `"calls": "1"`, 1), "it is damaged: json: cannot unmarshal"},
		"no name":          {strings.Replace(oneStep, `"a"`, `""`, 1), "it is damaged: step 1 has no name"},
		"no calls":         {strings.Replace(oneStep, `"calls": 1`, `"calls": 0`, 1), "it is damaged: the step a has 0 calls and 0 errors"},
		"too many errors":  {strings.Replace(oneStep, `"errors": 0`, `"errors": 2`, 1), "the step a has 1 calls and 2 errors"},
		"p99 above max":    {strings.Replace(oneStep, `"maxNs": 3`, `"maxNs": 2`, 1), "the durations of the step a contradict each other"},
		"negative":         {strings.Replace(oneStep, `"p50Ns": 1`, `"p50Ns": -1`, 1), "the durations of the step a contradict each other"},
		"twice":            {strings.Replace(oneStep, `]}`, `,`+oneStep[strings.Index(oneStep, `{"step"`):], 1), "the step a is there twice"},
		"negative time":    {strings.Replace(oneStep, `"steps"`, `"seenNs": -1, "steps"`, 1), "seenNs is negative"},
		"an escape inside": {strings.NewReplacer(`"calls": 1`, `"calls": 0`, `"a"`, `"\u001b[2J"`).Replace(oneStep), "it is damaged: the step "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadBaseline(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("a control character comes through: %q", err)
			}
		})
	}
	if _, err := ReadBaseline(strings.NewReader("[]")); !errors.Is(err, ErrNoBaseline) {
		t.Error(err)
	}
}

// FuzzReadBaseline: whatever is read without an error can be written, and is then read as the same.
func FuzzReadBaseline(f *testing.F) {
	f.Add([]byte(oneStep))
	f.Add([]byte(`{"podstepDurations": 1}`))
	f.Add([]byte(`{"podstepDurations": 9}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ReadBaseline(bytes.NewReader(text))
		if err != nil {
			return
		}
		h, s := stepsOf("a")
		Against(b, h, s.At(0).Rows(h, 0, ByP99))
		var out bytes.Buffer
		if err := b.Write(&out); err != nil {
			return // such as a year that JSON has no form for
		}
		again, err := ReadBaseline(&out)
		if err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		b.Version = baselineVersion
		if len(b.Steps) != len(again.Steps) || len(b.Steps) > 0 && !reflect.DeepEqual(b.Steps, again.Steps) || b.Of != again.Of {
			t.Errorf("%+v\nwant %+v", again, b)
		}
	})
}
