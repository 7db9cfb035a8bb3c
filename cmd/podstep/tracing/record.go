package tracing

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/version"
)

// Recording writes the events of a trace to a file.
type Recording struct {
	path   string
	writer *trace.Writer
	// progress is the terminal that shows how much there is, or nil.
	progress io.Writer
	shown    time.Time
}

// Record begins a recording. It shows at progress how much there is, if that is a terminal; nil: nowhere.
func Record(path string, c *client.Client, req *agentpb.WatchRequest, progress io.Writer) (*Recording, error) {
	w, err := trace.Create(path, &trace.Header{Podstep: version.Own(), Began: time.Now(), Selection: selection(req), Info: c.About()})
	if err != nil {
		return nil, err
	}
	r := &Recording{path: path, writer: w}
	if isTerminal(progress) {
		r.progress = progress
	}
	return r, nil
}

// selection returns what is recorded, as one text.
func selection(req *agentpb.WatchRequest) string {
	return strings.Join(append([]string{req.GetPods().Written()}, req.GetSteps()...), " ")
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice != 0
}

// showEvery is how often the count of events is shown.
const showEvery = time.Second / 4

func (r *Recording) add(b *agentpb.Batch) error {
	if err := r.writer.Add(b); err != nil {
		return fmt.Errorf("%w; what was written before that can be replayed", err)
	}
	if r.progress != nil && time.Since(r.shown) > showEvery {
		r.shown = time.Now()
		fmt.Fprintf(r.progress, "\r%s  Ctrl-C ends it ", r.written())
	}
	return nil
}

// written says how much is in the file.
func (r *Recording) written() string {
	return fmt.Sprintf("%d events, %s", r.writer.Events(), sizeText(r.writer.Size()))
}

// End ends the recording, and prints the result. failed is why tracing ended, or nil.
func (r *Recording) End(failed error, printf func(string, ...any)) error {
	err := r.writer.Close()
	if r.progress != nil {
		fmt.Fprint(r.progress, "\r\x1b[K")
	}
	printf("%s in %s", r.written(), r.path)
	if failed != nil {
		return failed
	}
	return err
}

// sizeText writes a size for a person.
func sizeText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB"} {
		if f /= 1000; f < 1000 {
			break
		}
	}
	return fmt.Sprintf("%.3g %s", f, unit)
}
