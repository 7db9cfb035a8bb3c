package recording

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// Sight is a snapshot with the way in which it was taken.
type Sight struct {
	Way      Way
	Snapshot *evidence.Snapshot
}

// Keep writes snapshots of one pod below a directory. They were taken one after the other, in
// ways from the least up. The files are named as f, but for the ways. A lesser way has no file
// of its own if named reports that a greater way's snapshot, masked as the lesser way sees it,
// names the cause, too. Earlier files of the same name are removed, as far as these ways
// replace them.
func Keep(dir string, f File, taken []Sight, named func(*evidence.Snapshot) bool) error {
	if err := removeEarlier(dir, f, taken); err != nil {
		return err
	}
	for len(taken) > 0 {
		most := taken[len(taken)-1]
		var left []Sight
		f.Ways = nil
		for _, lesser := range taken[:len(taken)-1] {
			if most.Snapshot.Pod != nil && named(lesser.Way.Mask(most.Snapshot)) {
				f.Ways = append(f.Ways, lesser.Way)
			} else {
				left = append(left, lesser)
			}
		}
		f.Ways = append(f.Ways, most.Way)
		if err := write(f.path(dir), most.Snapshot); err != nil {
			return err
		}
		taken = left
	}
	return nil
}

func removeEarlier(dir string, f File, taken []Sight) error {
	files, err := filepath.Glob(filepath.Join(dir, f.Cause, f.Proof+"-*.json"))
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	isKept := func(w Way) bool { return !slices.ContainsFunc(taken, func(s Sight) bool { return s.Way == w }) }
	for _, file := range files {
		old, err := Parse(file)
		if err != nil || old.Name != f.Name || slices.ContainsFunc(old.Ways, isKept) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove earlier snapshot: %w", err)
		}
	}
	return nil
}

func write(file string, s *evidence.Snapshot) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make directory of snapshot: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}
