package spread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

// baselineVersion is the version of the files that Write makes. ReadBaseline reads this one and all before it.
const baselineVersion = 1

// Bounds of a baseline's file, which other programs can write as well.
const (
	maxBaseline      = 4 << 20
	maxBaselineSteps = 4096
)

// Baseline is a spread that was kept, to compare a later one with it.
type Baseline struct {
	// Version is the version of the file format.
	Version int `json:"podstepDurations"`
	// Of says of which pods it is. Node, Kubelet and Taken say where and when it was taken.
	Of      string    `json:"of"`
	Node    string    `json:"node"`
	Kubelet string    `json:"kubelet"`
	Taken   time.Time `json:"taken"`
	// SeenNs is over how much time events were seen.
	SeenNs int64  `json:"seenNs"`
	Steps  []Kept `json:"steps,omitempty"`
}

// Kept is what a baseline keeps of a step. All times are in nanoseconds.
type Kept struct {
	Step   string        `json:"step"`
	Calls  int           `json:"calls"`
	Errors int           `json:"errors"`
	P50    time.Duration `json:"p50Ns"`
	P90    time.Duration `json:"p90Ns"`
	P99    time.Duration `json:"p99Ns"`
	Max    time.Duration `json:"maxNs"`
	Sum    time.Duration `json:"sumNs"`
}

// Seen returns over how much time events were seen.
func (b *Baseline) Seen() time.Duration { return time.Duration(b.SeenNs) }

// Keep adds the steps of rows of which a call has ended.
func (b *Baseline) Keep(h *history.History, rows []Row) {
	for i := range rows {
		if r := &rows[i]; r.Calls > 0 {
			b.Steps = append(b.Steps, r.Kept(h))
		}
	}
}

// Kept returns what a baseline keeps of a row.
func (r *Row) Kept(h *history.History) Kept {
	return Kept{h.Step(r.Step).Name, r.Calls, r.Errors, r.P50, r.P90, r.P99, r.Max, r.Sum}
}

// Write writes the file of a baseline.
func (b *Baseline) Write(w io.Writer) error {
	out := *b
	out.Version = baselineVersion
	if out.Steps == nil {
		out.Steps = []Kept{}
	}
	text, err := words.JSON(&out, " ")
	if err != nil {
		return fmt.Errorf("encode baseline: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// ErrNoBaseline is the error for a file that Write has not made.
var ErrNoBaseline = errors.New("it is no baseline; podstep top --save FILE makes one")

// ReadBaseline reads a file that Write has made, and checks it. Its errors say what is wrong with the file.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBaseline {
		return nil, fmt.Errorf("it has more than %d MiB: %w", maxBaseline>>20, ErrNoBaseline)
	}
	var head struct {
		Version *int `json:"podstepDurations"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		if !json.Valid(text) && bytes.Contains(text, []byte(`"podstepDurations"`)) {
			return nil, fmt.Errorf("it is cut short or damaged: %w", err)
		}
		return nil, ErrNoBaseline
	}
	switch {
	case head.Version == nil || *head.Version < 1:
		return nil, ErrNoBaseline
	case *head.Version > baselineVersion:
		return nil, fmt.Errorf("it has version %d, and this podstep reads versions up to %d; take a newer podstep", *head.Version, baselineVersion)
	}
	b := &Baseline{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return b, b.check()
}

// check makes sure that a baseline makes sense, and takes out what a terminal would act on.
func (b *Baseline) check() error {
	if len(b.Steps) > maxBaselineSteps {
		return fmt.Errorf("it has %d steps; at most %d are read", len(b.Steps), maxBaselineSteps)
	}
	if b.SeenNs < 0 {
		return errors.New("it is damaged: seenNs is negative")
	}
	b.Of, b.Node, b.Kubelet = words.OneLine(b.Of), words.OneLine(b.Node), words.OneLine(b.Kubelet)
	seen := map[string]bool{}
	for i := range b.Steps {
		k := &b.Steps[i]
		name := words.OneLine(k.Step)
		switch {
		case k.Step == "":
			return fmt.Errorf("it is damaged: step %d has no name", i+1)
		case seen[k.Step]:
			return fmt.Errorf("it is damaged: the step %s is there twice", name)
		case k.Calls < 1 || k.Errors < 0 || k.Errors > k.Calls:
			return fmt.Errorf("it is damaged: the step %s has %d calls and %d errors", name, k.Calls, k.Errors)
		case k.P50 < 0 || k.P90 < k.P50 || k.P99 < k.P90 || k.Max < k.P99 || k.Sum < k.Max:
			return fmt.Errorf("it is damaged: the durations of the step %s contradict each other", name)
		}
		seen[k.Step] = true
	}
	return nil
}
