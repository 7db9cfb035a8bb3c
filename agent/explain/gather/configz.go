package gather

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

func decodePod(raw []byte) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	return p, json.Unmarshal(raw, p)
}

// maxConfig bounds the part of the kubelet's configuration that is read, in bytes.
const maxConfig = 4 << 20

// askConfigz asks for the settings that the kubelet runs with.
func (p *port) askConfigz(ctx context.Context) {
	var config *evidence.KubeletConfig
	var logs bool
	err := p.get(ctx, pathConfigz, nil, maxConfig, func(r io.Reader) (err error) {
		config, logs, err = parseConfigz(r)
		return err
	})
	if err != nil {
		p.part.missed(evidence.Port, pathConfigz, err)
		return
	}
	p.part.saw(evidence.Port, pathConfigz, func(s *evidence.Snapshot) { s.Kubelet.Config = config })
	if logs && p.wantsLog {
		p.askLog(ctx)
	}
}

// settings are the settings that are read from a kubelet's configuration.
type settings struct {
	SerializeImagePulls       *bool
	MaxParallelImagePulls     *int32
	RegistryPullQPS           *int32
	RuntimeRequestTimeout     metav1.Duration
	SyncFrequency             metav1.Duration
	NodeStatusUpdateFrequency metav1.Duration
	ShutdownGracePeriod       metav1.Duration
	StaticPodPath             string
	MaxPods                   int32
	EvictionHard              map[string]string
	TopologyManagerPolicy     string
	CPUManagerPolicy          string
	CrashLoopBackOff          struct{ MaxContainerRestartPeriod metav1.Duration }
	EnableSystemLogQuery      *bool
}

// parseConfigz reads the settings; logs: the kubelet answers node log queries.
func parseConfigz(r io.Reader) (config *evidence.KubeletConfig, logs bool, err error) {
	var answer struct{ KubeletConfig *settings }
	if err := json.NewDecoder(r).Decode(&answer); err != nil {
		return nil, false, err
	}
	s := answer.KubeletConfig
	if s == nil {
		return nil, false, errors.New("the answer has no kubeletconfig")
	}
	logs = s.EnableSystemLogQuery != nil && *s.EnableSystemLogQuery
	return &evidence.KubeletConfig{
		SerializeImagePulls: s.SerializeImagePulls, MaxParallelImagePulls: s.MaxParallelImagePulls, RegistryPullQPS: s.RegistryPullQPS,
		RuntimeRequestTimeout: s.RuntimeRequestTimeout.Duration, SyncFrequency: s.SyncFrequency.Duration,
		NodeStatusUpdate: s.NodeStatusUpdateFrequency.Duration, ShutdownGracePeriod: s.ShutdownGracePeriod.Duration,
		MaxContainerRestart: s.CrashLoopBackOff.MaxContainerRestartPeriod.Duration, StaticPodPath: message(s.StaticPodPath), MaxPods: s.MaxPods,
		EvictionHard: bounded(s.EvictionHard), TopologyManagerPolicy: message(s.TopologyManagerPolicy), CPUManagerPolicy: message(s.CPUManagerPolicy),
	}, logs, nil
}

// maxSettings bounds how many entries of a map are kept.
const maxSettings = 32

func bounded(m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if len(out) < maxSettings {
			out[message(k)] = message(v)
		}
	}
	return out
}
