package takeover

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// state is what is written down of a takeover, for a process that cleans up after it.
type state struct {
	Path string `json:"path"`
	Root string `json:"root"`
	// Namespace is the kubelet's mount namespace. The kubelet's process may be gone later.
	Namespace string    `json:"namespace,omitempty"`
	PID       int       `json:"pid"`
	Since     time.Time `json:"since"`
	// RootDir is the directory to which Root leads. Not all processes of a namespace have the same.
	RootDir fileID `json:"rootDir"`
	Dir     fileID `json:"dir"`
	Name    string `json:"name"`
	Ours    fileID `json:"ours"`
	Theirs  fileID `json:"theirs"`
}

// maxState bounds what is read of a state file.
const maxState = 64 << 10

// parseState reads the first value. A process that was killed while it wrote a shorter state over a longer one has
// left the end of the longer one.
func parseState(b []byte) (state, error) {
	var s state
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&s); err != nil {
		return state{}, fmt.Errorf("read state: %w", err)
	}
	if !filepath.IsAbs(s.Path) || strings.ContainsRune(s.Name, '/') {
		return state{}, errors.New("read state: it is none of podstep's")
	}
	return s, nil
}

// StateFile returns the file that has the state of a takeover of a path.
func StateFile(dir, root, path string) (string, error) {
	if dir == "" {
		dir = DefaultDir
	}
	if root == "" {
		root = "/"
	}
	r, err := openRoot(root)
	if err != nil {
		return "", err
	}
	defer r.close()
	p, err := findPlace(r, path)
	if err != nil {
		return "", err
	}
	defer p.close()
	return statePath(dir, p), nil
}

// stateFile is the state of one socket. The process that has it locked has the socket.
type stateFile struct {
	f    *os.File
	path string
}

// statePath returns the file for a socket. There is one, whatever paths lead to the socket.
func statePath(dir string, p *place) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", p.id.Dev, p.id.Ino, p.name))
	return filepath.Join(dir, fmt.Sprintf("%s-%x.json", p.name, sum[:6]))
}

// lockState opens a state file and locks it. The lock ends with its process.
func lockState(path string, flags int) (*stateFile, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
		if err != nil {
			return nil, err
		}
		s := &stateFile{f: f, path: path}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			held, _ := s.read()
			_ = f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, &servedError{held.Path, held.PID}
			}
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if s.current() {
			return s, nil
		}
		// The process that had it locked has removed it.
		_ = f.Close()
	}
}

// lockStateSoon locks a state file that another process may be about to give up: one that was killed has its files for a
// moment.
func lockStateSoon(path string) (s *stateFile, err error) {
	const tries, pitch = 100, 10 * time.Millisecond
	for range tries {
		var held *servedError
		if s, err = lockState(path, 0); !errors.As(err, &held) {
			break
		}
		time.Sleep(pitch)
	}
	return s, err
}

// current reports whether the open file still has its name.
func (s *stateFile) current() bool {
	own, err := s.f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(s.path)
	return err == nil && os.SameFile(own, named)
}

func (s *stateFile) read() (state, error) {
	b, err := io.ReadAll(io.NewSectionReader(s.f, 0, maxState))
	if err != nil {
		return state{}, fmt.Errorf("read state: %w", err)
	}
	return parseState(b)
}

// begun reports whether anything was written down. A process that died before had changed nothing.
func (s *stateFile) begun() bool {
	info, err := s.f.Stat()
	return err != nil || info.Size() > 0
}

// write replaces the state. The file stays, because the lock is on it.
func (s *stateFile) write(st state) error {
	b, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if _, err := s.f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := s.f.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// LinkFile returns the socket beside a state file by which the process that has the path is found.
func LinkFile(state string) string { return strings.TrimSuffix(state, ".json") + ".link" }

// remove ends the state. Our lock holds until the name is gone.
func (s *stateFile) remove() error {
	_ = os.Remove(LinkFile(s.path))
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.f.Close())
}

func (s *stateFile) close() { _ = s.f.Close() }

// openState makes the state file of a socket ours.
func openState(dir string, p *place) (*stateFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep state of the takeover: %w", err)
	}
	s, err := lockState(statePath(dir, p), os.O_CREATE)
	var held *servedError
	if err != nil && !errors.As(err, &held) {
		return nil, fmt.Errorf("keep state of the takeover: %w", err)
	}
	return s, err
}

// namespaceOf returns the mount namespace of a root like /proc/PID/root.
func namespaceOf(root string) string {
	rest, ok := strings.CutSuffix(strings.TrimRight(root, "/"), "/root")
	if !ok || !strings.HasPrefix(rest, "/proc/") {
		rest = "/proc/self"
	}
	ns, err := os.Readlink(rest + "/ns/mnt")
	if err != nil {
		return ""
	}
	return ns
}
