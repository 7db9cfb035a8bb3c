package explore

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// Result is what came of a fault: one line of the file of results.
type Result struct {
	ID    string `json:"id"`
	Fault Fault  `json:"fault"`
	// Broken is how many calls were broken.
	Broken int  `json:"broken"`
	Stuck  bool `json:"stuck"`
	// Slow: the pod was not stuck, but took longer than others.
	Slow bool `json:"slow,omitempty"`
	// State is the pod's state as `why` has it.
	State string `json:"state,omitempty"`
	// First is the first finding, and API the first one of what the API server alone knows.
	First   Answer  `json:"first,omitzero"`
	API     Answer  `json:"api,omitzero"`
	Verdict Verdict `json:"verdict"`
	// Later: the first question found nothing, and this answers the second one.
	Later      bool    `json:"later,omitempty"`
	APIVerdict Verdict `json:"apiVerdict,omitempty"`
	// CertainWrong: a finding that is certain names something else than what was broken.
	CertainWrong bool `json:"certainWrong,omitempty"`
	// Recovered is, for a single broken call, whether the pod went on by itself later: yes, no, or empty if nobody
	// waited.
	Recovered string `json:"recovered,omitempty"`
	// Bystanders is how many other pods were created meanwhile, Harmed how many of them did not become Ready.
	Bystanders int    `json:"bystanders,omitempty"`
	Harmed     int    `json:"harmed,omitempty"`
	Marker     string `json:"marker,omitempty"`
	// Recording is the file name of the snapshot and of the trace that are kept, without its extension.
	Recording string `json:"recording,omitempty"`
}

// Open reports whether the answer leaves something to do.
func (r *Result) Open() bool {
	return r.CertainWrong || r.Verdict == Wrong || r.Verdict == Unexplained || r.Verdict == Partly || r.Verdict == Alarm
}

// results is the file of results, to which lines are appended.
type results struct {
	mu   sync.Mutex
	file *os.File
}

// maxLine bounds a line of the file of results.
const maxLine = 1 << 20

// Read reads a file of results. A file that does not exist has none. The last line may be cut short, by a run that was
// killed: it is left out.
func Read(path string) (all []Result, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	var cut error
	for n := 1; lines.Scan(); n++ {
		if cut != nil {
			return nil, cut
		}
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			cut = fmt.Errorf("read results: line %d of %s is no result: %w", n, path, err)
			continue
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return all, nil
}

// openResults opens a file of results after the results that it has: all is what Read returned. A line that was cut
// short is gone then.
func openResults(path string, all []Result) (*results, error) {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	out := &results{file: f}
	for i := range all {
		if err := out.add(&all[i]); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, errors.Join(fmt.Errorf("write results: %w", err), f.Close())
	}
	return out, nil
}

func (out *results) add(r *Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	if _, err := out.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}
