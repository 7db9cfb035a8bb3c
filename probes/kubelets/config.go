package kubelets

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// settings are what we read of a KubeletConfiguration; nil if it does not say.
type settings struct {
	ContainerRuntimeEndpoint *string `json:"containerRuntimeEndpoint"`
	ImageServiceEndpoint     *string `json:"imageServiceEndpoint"`
	Address                  *string `json:"address"`
	Port                     *int    `json:"port"`
	ReadOnlyPort             *int    `json:"readOnlyPort"`
	CgroupRoot               *string `json:"cgroupRoot"`
	StaticPodPath            *string `json:"staticPodPath"`
}

// parseConfig reads a KubeletConfiguration, in YAML or JSON. A drop-in need not state its kind.
func parseConfig(text []byte) (*settings, error) {
	var c struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		settings
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parse configuration: %w", err)
	}
	if c.Kind != "" && c.Kind != "KubeletConfiguration" {
		return nil, fmt.Errorf("parse configuration: it is of kind %q, not KubeletConfiguration", c.Kind)
	}
	if c.APIVersion != "" && !strings.HasPrefix(c.APIVersion, "kubelet.config.k8s.io/") {
		return nil, fmt.Errorf("parse configuration: it is of version %q, not kubelet.config.k8s.io", c.APIVersion)
	}
	return &c.settings, nil
}

// overrideBy replaces the settings that other has.
func (s *settings) overrideBy(other *settings) {
	set(&s.ContainerRuntimeEndpoint, other.ContainerRuntimeEndpoint)
	set(&s.ImageServiceEndpoint, other.ImageServiceEndpoint)
	set(&s.Address, other.Address)
	set(&s.Port, other.Port)
	set(&s.ReadOnlyPort, other.ReadOnlyPort)
	set(&s.CgroupRoot, other.CgroupRoot)
	set(&s.StaticPodPath, other.StaticPodPath)
}

func set[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

// or returns the value, or otherwise if there is none or it is empty.
func or[T comparable](value *T, otherwise T) T {
	var zero T
	if value == nil || *value == zero {
		return otherwise
	}
	return *value
}

// readConfig reads the kubelet's file and its drop-ins as the kubelet does: in order, each over those before.
func (k *Kubelet) readConfig() *settings {
	all := &settings{}
	files := []string{k.Config}
	if k.ConfigDir != "" {
		drops, err := listIn(k.Root, k.ConfigDir, ".conf")
		if err != nil {
			k.problem("its drop-in configuration %s cannot be read: %v", k.ConfigDir, err)
		}
		files = append(files, drops...)
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		text, err := readIn(k.Root, file)
		if err != nil {
			k.problem("its configuration %s cannot be read: %v", file, err)
			continue
		}
		s, err := parseConfig(text)
		if err != nil {
			k.problem("its configuration %s makes no sense: %v", file, err)
			continue
		}
		all.overrideBy(s)
	}
	return all
}
