package gather

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/probes/kubelets"
)

// keep returns the ends of the logs of the kubelet and of its runtime.
func (l *Log) keep(ctx context.Context, of *Subject) []File {
	k, err := l.Near.kubelet(ctx, of)
	if err != nil {
		return nil // of a kubelet elsewhere the source Kubelet asks
	}
	var out []File
	for _, log := range []struct {
		name, what string
		find       func() (*nodelog.Log, error)
	}{
		{kubeletLog, kubeletLogIs, func() (*nodelog.Log, error) { return nodelog.Of(ctx, k.PID) }},
		{runtimeLog, runtimeLogIs, func() (*nodelog.Log, error) { return nodelog.OfRuntime(ctx, k) }},
	} {
		text, err := endOf(ctx, log.find)
		out = append(out, fileOf(log.name, log.what, text, err))
	}
	return out
}

// endOf returns the end of a log as it may leave.
func endOf(ctx context.Context, find func() (*nodelog.Log, error)) ([]byte, error) {
	l, err := find()
	if err != nil {
		return nil, err
	}
	text, err := l.End(ctx, logSince)
	return keptLines(text, l.Zone), err
}

// maxCheckpoint bounds one of these files, in bytes.
const maxCheckpoint = 4 << 20

// keep returns the kubelet's checkpoints.
func (m *Machine) keep(ctx context.Context, of *Subject) (out []File) {
	k, err := m.Near.kubelet(ctx, of)
	if err != nil {
		return nil
	}
	for _, c := range checkpoints {
		text, err := keptCheckpoint(k, path.Join(k.RootDir, c.file))
		out = append(out, fileOf("checkpoints/"+path.Base(c.file), c.what, text, err))
	}
	return out
}

// secretKeys are parts of checkpoints with the environment and the mounts that a plugin gives a container.
var secretKeys = map[string]bool{"AllocResp": true}

// keptCheckpoint returns a checkpoint without what may be a secret.
func keptCheckpoint(k *kubelets.Kubelet, name string) ([]byte, error) {
	text, err := readCheckpoint(k, name)
	if err != nil {
		return nil, err
	}
	parts, err := decoded(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return json.MarshalIndent(withoutSecrets(parts), "", "  ")
}

func readCheckpoint(k *kubelets.Kubelet, name string) ([]byte, error) {
	f, err := k.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCheckpoint+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxCheckpoint {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxCheckpoint)
	}
	return text, nil
}

// withoutSecrets returns JSON without the parts that secretKeys name. Some checkpoints have JSON in a text.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, part := range v {
			if secretKeys[key] {
				delete(v, key)
				continue
			}
			v[key] = withoutSecrets(part)
		}
	case []any:
		for i, part := range v {
			v[i] = withoutSecrets(part)
		}
	case string:
		if inner, err := decoded([]byte(v)); err == nil {
			return withoutSecrets(inner)
		}
		return message(v)
	}
	return v
}

// decoded decodes JSON. Checksums are larger than a float64 can tell apart.
func decoded(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}
