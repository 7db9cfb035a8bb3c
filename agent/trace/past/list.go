package past

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// MinKeep is the least that a record directory is bounded to, in bytes.
	MinKeep = 1 << 20
	// DefaultKeep is its usual bound.
	DefaultKeep = 1 << 30
)

// fileName is the name of a segment: its number, and when it was begun, in UTC. Numbers go up, whatever clocks do.
var fileName = regexp.MustCompile(`^(\d{10})-(\d{8}T\d{6}Z)\.podstep$`)

func nameOf(number int, began time.Time) string {
	return fmt.Sprintf("%010d-%s.podstep", number, began.UTC().Format("20060102T150405Z"))
}

// numberOf returns the number in the name of a segment.
func numberOf(name string) (number int, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	number, err := strconv.Atoi(m[1])
	return number, err == nil
}

// lockName is the name of the file that the podstep which writes has locked.
const lockName = "lock"

// file is a segment in a directory.
type file struct {
	path   string
	number int
	size   int64
	mod    time.Time
}

// list returns the segments of a directory, the oldest first.
func list(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []file
	for _, e := range entries { // ReadDir sorts by name
		number, ok := numberOf(e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // podstep has deleted it meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, file{filepath.Join(dir, e.Name()), number, info.Size(), info.ModTime()})
	}
	return out, nil
}

// IsDir reports whether a path is a record directory: one that has segments, or in which podstep has begun to record.
func IsDir(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	lock, others := false, false
	for _, e := range entries {
		switch {
		case fileName.MatchString(e.Name()):
			return true
		case e.Name() == lockName:
			lock = true
		case !strings.HasPrefix(e.Name(), "."):
			others = true
		}
	}
	return lock && !others
}
