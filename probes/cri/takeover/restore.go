package takeover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// Restored is a takeover that was found, and what was done about it.
type Restored struct {
	Socket string `json:"socket"`
	Root   string `json:"root,omitempty"`
	// PID is the pid of the podstep that took it over, as far as it is known.
	PID int `json:"pid,omitempty"`
	// Living takeovers are left alone.
	Living bool     `json:"living"`
	Done   []string `json:"done"`
	Error  string   `json:"error,omitempty"`
}

// Restore cleans up after dead podsteps: the takeovers that dir knows of, and those found at the given sockets. It
// fails if dir cannot be read. An error with a single takeover is in its Restored.
func Restore(dir string, sockets ...string) ([]Restored, error) {
	if dir == "" {
		dir = DefaultDir
	}
	files, err := filepath.Glob(filepath.Join(escape(dir), "*.json"))
	if err != nil {
		return nil, fmt.Errorf("look for takeovers in %s: %w", dir, err)
	}
	if _, err := os.ReadDir(dir); errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("only root can give runtimes their sockets back: run it with sudo (%w)", err)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for takeovers: %w", err)
	}
	out := []Restored{}
	for _, path := range files {
		if r, ok := restoreState(path); ok {
			out = append(out, r)
		}
	}
	for _, socket := range sockets {
		if r := restoreSocket(socket); r.Living || r.Error != "" || len(r.Done) > 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// escape makes a pattern that matches a directory's name literally.
func escape(dir string) string {
	var b []byte
	for i := range len(dir) {
		switch dir[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, dir[i])
	}
	return string(b)
}

// restoreState cleans up what one state file names. It returns false if another process did that meanwhile.
func restoreState(path string) (Restored, bool) {
	r := Restored{Socket: path, Done: []string{}}
	f, err := lockState(path, 0)
	var held *servedError
	if errors.As(err, &held) && companion.Killed(held.pid) {
		f, err = lockStateSoon(path)
	}
	switch {
	case errors.As(err, &held) && companion.Killed(held.pid):
		return restoreKilled(path), true
	case errors.As(err, &held):
		r.PID, r.Living = held.pid, true
		if held.name != "" {
			r.Socket = held.name
		}
		return r, true
	case errors.Is(err, fs.ErrNotExist):
		return r, false
	case err != nil:
		r.Error = err.Error()
		return r, true
	}
	if !f.begun() {
		return r, f.remove() != nil
	}
	s, err := f.read()
	if err != nil {
		f.close()
		r.Error = fmt.Sprintf("%s; name the socket, and remove %s then", err, path)
		return r, true
	}
	r.Socket, r.PID = s.Path, s.PID
	if s.Root != "/" {
		r.Root = s.Root
	}
	if err := s.restore(&r); err != nil {
		f.close()
		r.failed(err)
		if errors.Is(err, errOtherView) {
			r.Error += fmt.Sprintf("; name the socket by its path here, and remove %s then", path)
		}
		return r, true
	}
	if err := f.remove(); err != nil {
		r.Error = err.Error()
	}
	r.did("forgot the takeover of process " + fmt.Sprint(s.PID))
	return r, true
}

// restoreKilled gives back what a process has that was killed and is still there. Its state stays locked.
func restoreKilled(path string) Restored {
	r := Restored{Socket: path, Done: []string{}}
	b, err := os.ReadFile(path)
	if err != nil {
		r.failed(err)
		return r
	}
	s, err := parseState(b)
	if err != nil {
		r.failed(err)
		return r
	}
	r.Socket, r.PID = s.Path, s.PID
	p, err := s.place()
	if err != nil {
		r.failed(err)
		return r
	}
	defer p.close()
	did, err := p.giveBack(s.Ours, s.Theirs)
	r.did(did...)
	if err != nil {
		r.failed(err)
	}
	return r
}

func (r *Restored) did(what ...string) { r.Done = append(r.Done, what...) }

func (r *Restored) failed(err error) {
	var held *servedError
	if errors.As(err, &held) {
		r.Living, r.PID = true, held.pid
		return
	}
	r.Error = err.Error()
}

// restore gives back what the state names as taken.
func (s *state) restore(r *Restored) error {
	p, err := s.place()
	switch {
	case errors.Is(err, errOtherDir):
		r.did("the socket's directory was replaced, and the runtime's socket went with the old one: if nobody answers at " + s.Path + ", restart the runtime")
		return nil
	case errors.Is(err, fs.ErrNotExist):
		r.did("the socket's directory is gone, and the runtime's socket with it: restart the runtime, if it still runs")
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	ours := s.Ours
	if at := p.idOf(p.name); at == ours && p.whoServes(p.name).alive {
		// A file that is gone may have left its number to a new one.
		ours = fileID{}
	}
	did, err := p.giveBack(ours, s.Theirs)
	r.did(did...)
	if err != nil {
		return err
	}
	did, err = p.tidy()
	r.did(did...)
	return err
}

// errOtherDir: the path leads to another directory than before.
var errOtherDir = fmt.Errorf("another directory is there now: %w", fs.ErrNotExist)

// errOtherView: the processes that are left see other files.
var errOtherView = errors.New("the process through which it was seen is gone, and those that are left see other files")

// place finds the socket again. The kubelet through which it was seen may be gone. Then any process will do that
// sees the same directory there.
func (s *state) place() (*place, error) {
	// If no process is left, the directory is as good as gone.
	last := fmt.Errorf("find %s below %s: no process has that view of files any more: %w", s.Path, s.Root, fs.ErrNotExist)
	known := false
	for _, root := range s.roots() {
		dir, err := openRoot(root)
		if err != nil {
			continue
		}
		p, err := findPlace(dir, s.Path)
		dir.close()
		if err == nil && p.id == s.Dir {
			return p, nil
		}
		if err == nil {
			p.close()
			err = fmt.Errorf("find %s: %w", s.Path, errOtherDir)
		}
		// An error counts only if this process sees what the kubelet did: it may have a root directory of its own,
		// in which the path cannot be found.
		switch {
		case dir.id == s.RootDir:
			last, known = err, true
		case !known:
			last = fmt.Errorf("find %s below %s: %w", s.Path, s.Root, errOtherView)
		}
	}
	return nil, last
}

// roots returns views of files in which the socket may be found.
func (s *state) roots() (out []string) {
	if s.Namespace == "" || namespaceOf(s.Root) == s.Namespace {
		out = append(out, s.Root)
	}
	if s.Namespace == "" {
		return out
	}
	views, _ := filepath.Glob("/proc/[0-9]*/root")
	for _, root := range views {
		if namespaceOf(root) == s.Namespace {
			out = append(out, root)
		}
	}
	return out
}

// restoreSocket cleans up at a socket of which no state may be left.
func restoreSocket(path string) Restored {
	r := Restored{Socket: path, Done: []string{}}
	abs, err := filepath.Abs(path)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.Socket = abs
	p, err := findOwn(abs)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer p.close()
	did, err := p.tidy()
	r.did(did...)
	if err != nil {
		r.failed(err)
	}
	return r
}

func findOwn(path string) (*place, error) {
	root, err := openRoot("/")
	if err != nil {
		return nil, err
	}
	defer root.close()
	p, err := findPlace(root, path)
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("%w: there is no such directory", err)
	}
	return p, err
}
