package dap

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
)

// kubeletFile is a file of the kubelet, as far as podstep has its source.
type kubeletFile struct {
	// ref is the number by which editors ask for it. The same podstep always gives a file the same number.
	ref                   int
	module, version, file string
	excerpts              []source.Excerpt // in the order of their lines
	places                []place          // in the order of their lines
}

// place is a line from which the kubelet comes to a step: the beginning of the step's function, or a call that leads to
// it.
type place struct {
	line int
	step string
	// in is the excerpt that has the line.
	in int
}

// files are all files of which podstep has source, by module and path.
var files = sync.OnceValue(func() map[string]*kubeletFile {
	all := map[string]*kubeletFile{}
	steps := probes.MustLoad().Steps
	for i := range steps {
		e, ok := source.Of(steps[i].Name)
		if !ok {
			continue
		}
		key := e.Module + "/" + e.File
		f := all[key]
		if f == nil {
			f = &kubeletFile{module: e.Module, version: e.Version, file: e.File}
			all[key] = f
		}
		if !slices.ContainsFunc(f.excerpts, func(o source.Excerpt) bool { return o.Line == e.Line && len(o.Lines) == len(e.Lines) }) {
			f.excerpts = append(f.excerpts, e)
		}
		f.places = append(f.places, place{line: e.Func, step: steps[i].Name})
		for j := range steps {
			for _, line := range e.Calls(steps[j].Name) {
				f.places = append(f.places, place{line: line, step: steps[j].Name})
			}
		}
	}
	for i, f := range sortedFiles(all) {
		f.ref = i + 1
		f.sort()
	}
	return all
})

func sortedFiles(all map[string]*kubeletFile) []*kubeletFile {
	out := make([]*kubeletFile, 0, len(all))
	for _, f := range all {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *kubeletFile) int { return cmp.Compare(a.path(), b.path()) })
	return out
}

func (f *kubeletFile) sort() {
	slices.SortFunc(f.excerpts, func(a, b source.Excerpt) int { return cmp.Compare(a.Line, b.Line) })
	for i := range f.places {
		p := &f.places[i]
		p.in = f.within(p.line)
	}
	slices.SortFunc(f.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.step, b.step))
	})
	f.places = slices.Compact(f.places)
}

// path returns the file's path as Go's module cache has it, below its root.
func (f *kubeletFile) path() string { return f.module + "@" + f.version + "/" + f.file }

// source returns the file for an editor, which asks for the text by its number.
func (f *kubeletFile) source() *dap.Source {
	return &dap.Source{Name: path.Base(f.file), Path: f.path(), SourceReference: f.ref, Origin: f.module + " " + f.version}
}

// text returns the file's lines, each in its place. Where podstep has no source, a comment stands for what is left out.
func (f *kubeletFile) text() string {
	var out []string
	for _, e := range f.excerpts {
		if gap := e.Line - 1 - len(out); gap > 0 {
			comment := fmt.Sprintf("// lines %d to %d of %s are left out", len(out)+1, e.Line-1, f.path())
			out = append(append(out, comment), make([]string, gap-1)...)
		}
		// An excerpt may lie within the one before it.
		if skip := len(out) - (e.Line - 1); skip < len(e.Lines) {
			out = append(out, e.Lines[skip:]...)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// sourceOf returns the file of an excerpt.
func sourceOf(e *source.Excerpt) *dap.Source {
	if f := files()[e.Module+"/"+e.File]; f != nil {
		return f.source()
	}
	return nil
}

// allSources are the files of which podstep has source.
func allSources() []dap.Source {
	var out []dap.Source
	for _, f := range sortedFiles(files()) {
		out = append(out, *f.source())
	}
	return out
}

// versions are those in paths of the module cache.
var versions = regexp.MustCompile(`@v[^/]+`)

// fileOf returns the file that an editor means: one of podstep's own, or one in a checkout or in a module cache. It
// returns an error if podstep has no source of it.
func fileOf(s *dap.Source) (*kubeletFile, error) {
	own := "/" + strings.TrimPrefix(strings.ReplaceAll(versions.ReplaceAllString(s.Path, ""), `\`, "/"), "/")
	for key, f := range files() {
		if s.SourceReference != 0 && s.SourceReference == f.ref {
			return f, nil
		}
		isKubernetes := f.module == "k8s.io/kubernetes" && strings.HasSuffix(own, "/"+f.file) && !strings.Contains(own, "/vendor/")
		if s.SourceReference == 0 && (strings.HasSuffix(own, "/"+key) || isKubernetes) {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s is no file of the kubelet that podstep knows a step in", words.Clean(cmp.Or(s.Path, s.Name, "this source")))
}

// source answers with the text of a file.
func (s *session) source(r *dap.SourceRequest) error {
	from := r.Arguments.Source
	if from == nil {
		from = &dap.Source{}
	}
	asked := *from
	if r.Arguments.SourceReference != 0 {
		asked.SourceReference = r.Arguments.SourceReference
	}
	f, err := fileOf(&asked)
	if err != nil {
		return err
	}
	s.out.put(&dap.SourceResponse{Response: done(r), Body: dap.SourceResponseBody{Content: f.text(), MimeType: "text/x-go"}})
	return nil
}

// within returns the excerpt that has a line, or -1.
func (f *kubeletFile) within(line int) int {
	return slices.IndexFunc(f.excerpts, func(e source.Excerpt) bool { return line >= e.Line && line < e.Line+len(e.Lines) })
}

// nearest returns the place of the line's function that is nearest to the line, of those that suit; of two that are as
// near, the later one.
func (f *kubeletFile) nearest(line int, suits func(step string) bool) (best place, ok bool) {
	in := f.within(line)
	for _, p := range f.places {
		if in < 0 || p.in != in || !suits(p.step) {
			continue
		}
		if !ok || distance(p.line, line) <= distance(best.line, line) && p.line != best.line {
			best, ok = p, true
		}
	}
	return best, ok
}

func distance(a, b int) int { return max(a-b, b-a) }

// breakpointLocations answers with the lines at which a pod can be held.
func (s *session) breakpointLocations(r *dap.BreakpointLocationsRequest) {
	out := []dap.BreakpointLocation{}
	f, err := fileOf(&r.Arguments.Source)
	last := max(r.Arguments.Line, r.Arguments.EndLine)
	for i := 0; err == nil && i < len(f.places); i++ {
		line := f.places[i].line
		known := len(out) > 0 && out[len(out)-1].Line == line
		if line >= r.Arguments.Line && line <= last && !known && s.target.points().holds(f.places[i].step) {
			out = append(out, dap.BreakpointLocation{Line: line})
		}
	}
	s.out.put(&dap.BreakpointLocationsResponse{Response: done(r), Body: dap.BreakpointLocationsResponseBody{Breakpoints: out}})
}
