package simcri

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Scenario states how a whole node behaves: the node itself, its images, and rules that state of pods what
// annotations can state.
type Scenario struct {
	Node   Node
	Images []ImageRule
	Rules  []Rule
}

// Node states how the node as a whole behaves. nil and zero values are a node without faults.
type Node struct {
	RuntimeReady *bool                    // the Status call's condition
	NetworkReady *bool                    // likewise; sandboxes on the pod network then fail, too
	PullSpeed    int64                    // bytes a second, of each pull
	Latency      *float64                 // a factor for how long calls take; 0: no time
	Calls        map[string]time.Duration // how long single calls take instead
}

// ImageRule describes the images whose names fit a pattern.
type ImageRule struct {
	Name string // a pattern for the full name, such as docker.io/library/busybox:*
	Size int64  // bytes
	User string // a number, or a name
	// Content, if given, makes images with the same Content one image under several names.
	Content string
}

// Rule states how pods behave.
type Rule struct {
	Pod       string // a pattern for namespace/name, or for the name in any namespace
	Container string // a pattern; empty: the pod with all its containers
	Image     string // a pattern for the image as the pod names it
	values    []ruleValue
}

type ruleValue struct {
	setting Setting
	text    string
}

func (r Rule) fits(pod podName, container, image string) bool {
	name := pod.name
	if strings.Contains(r.Pod, "/") {
		name = pod.namespace + "/" + pod.name
	}
	return (r.Pod == "" || match(r.Pod, name)) &&
		(r.Container == "" || container != "" && match(r.Container, container)) &&
		(r.Image == "" || image != "" && match(r.Image, image))
}

// defaultPullSpeed is the speed of a registry nearby.
const defaultPullSpeed = 100 << 20

func (sc *Scenario) pullSpeed() int64 {
	if sc.Node.PullSpeed > 0 {
		return sc.Node.PullSpeed
	}
	return defaultPullSpeed
}

// latency returns how long a call takes.
func (sc *Scenario) latency(call string) time.Duration {
	if d, ok := sc.Node.Calls[call]; ok {
		return d
	}
	d, ok := latencies[call]
	if !ok {
		d = quick
	}
	if f := sc.Node.Latency; f != nil {
		d = time.Duration(float64(d) * *f)
	}
	return d
}

func trueUnlessSet(b *bool) bool { return b == nil || *b }

// maxScenario bounds a scenario, in bytes.
const maxScenario = 1 << 20

// The form of the file.
type (
	scenarioYAML struct {
		Node struct {
			RuntimeReady *bool                `yaml:"runtimeReady"`
			NetworkReady *bool                `yaml:"networkReady"`
			PullSpeed    yaml.Node            `yaml:"pullSpeed"`
			Latency      *float64             `yaml:"latency"`
			Calls        map[string]yaml.Node `yaml:"calls"`
		} `yaml:"node"`
		Images []imageYAML `yaml:"images"`
		Rules  []ruleYAML  `yaml:"rules"`
	}
	imageYAML struct {
		Name    string    `yaml:"name"`
		Size    yaml.Node `yaml:"size"`
		User    string    `yaml:"user"`
		Content string    `yaml:"content"`
	}
	ruleYAML struct {
		Pod       string    `yaml:"pod"`
		Container string    `yaml:"container"`
		Image     string    `yaml:"image"`
		Set       yaml.Node `yaml:"set"`
	}
)

// ParseScenario reads a scenario. An error names the line.
func ParseScenario(data []byte) (*Scenario, error) {
	if len(data) > maxScenario {
		return nil, fmt.Errorf("a scenario may have %d bytes", maxScenario)
	}
	var y scenarioYAML
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&y); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("a scenario is one YAML document")
	}
	sc := &Scenario{Node: Node{RuntimeReady: y.Node.RuntimeReady, NetworkReady: y.Node.NetworkReady, Latency: y.Node.Latency}}
	if f := y.Node.Latency; f != nil && !(*f >= 0 && *f <= 1000) {
		return nil, errors.New("node.latency is a factor from 0 to 1000")
	}
	return sc, errors.Join(sc.readNode(&y), sc.readImages(y.Images), sc.readRules(y.Rules))
}

func (sc *Scenario) readNode(y *scenarioYAML) error {
	var err error
	if sc.Node.PullSpeed, err = bytesOf(y.Node.PullSpeed); err != nil {
		return err
	}
	for call, node := range y.Node.Calls {
		if !isCall(call) {
			return fmt.Errorf("line %d: the CRI has no call %q", node.Line, call)
		}
		d, err := time.ParseDuration(node.Value)
		if err != nil || d < 0 || d > forever {
			return fmt.Errorf("line %d: %q is not a time such as 100ms", node.Line, node.Value)
		}
		if sc.Node.Calls == nil {
			sc.Node.Calls = map[string]time.Duration{}
		}
		sc.Node.Calls[call] = d
	}
	return nil
}

func (sc *Scenario) readImages(all []imageYAML) error {
	for _, i := range all {
		size, err := bytesOf(i.Size)
		if err != nil {
			return err
		}
		if i.Name == "" {
			return errors.New("an entry of images has no name")
		}
		sc.Images = append(sc.Images, ImageRule{Name: i.Name, Size: size, User: i.User, Content: i.Content})
	}
	return nil
}

func (sc *Scenario) readRules(all []ruleYAML) error {
	for _, y := range all {
		r := Rule{Pod: y.Pod, Container: y.Container, Image: y.Image}
		if y.Set.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: a rule needs `set` with names and values", y.Set.Line)
		}
		for i := 0; i+1 < len(y.Set.Content); i += 2 {
			v, err := readValue(y.Set.Content[i], y.Set.Content[i+1], r.Container != "")
			if err != nil {
				return err
			}
			r.values = append(r.values, v)
		}
		sc.Rules = append(sc.Rules, r)
	}
	return nil
}

func readValue(key, value *yaml.Node, ofContainer bool) (ruleValue, error) {
	s, known := settingByName(key.Value)
	switch {
	case !known:
		return ruleValue{}, fmt.Errorf("line %d: there is no %q; docs/sim.md lists what there is", key.Line, key.Value)
	case s.PodOnly && ofContainer:
		return ruleValue{}, fmt.Errorf("line %d: %s is said of whole pods, not of a container", key.Line, s.Name)
	case value.Kind != yaml.ScalarNode:
		return ruleValue{}, fmt.Errorf("line %d: %s has one value", value.Line, s.Name)
	}
	var try behaviour
	if err := s.apply(&try, value.Value); err != nil {
		return ruleValue{}, fmt.Errorf("line %d: %s: %w", value.Line, s.Name, err)
	}
	return ruleValue{s, value.Value}, nil
}

// bytesOf reads an amount of bytes; what is not there is 0.
func bytesOf(n yaml.Node) (int64, error) {
	if n.Kind == 0 {
		return 0, nil
	}
	q, err := resource.ParseQuantity(n.Value)
	if err != nil || q.Sign() <= 0 {
		return 0, fmt.Errorf("line %d: %q is not an amount of bytes such as 20Mi", n.Line, n.Value)
	}
	return q.Value(), nil
}

// scenarioFile is the file from which a scenario was read.
type scenarioFile struct {
	path string
	mu   sync.Mutex
	read time.Time // the file's time of change when it was read
	size int64
}

// readScenario reads the file again if it has changed.
func (s *Server) readScenario() error {
	f := &s.file
	if f.path == "" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("read the scenario: %w", err)
	}
	if info.ModTime().Equal(f.read) && info.Size() == f.size {
		return nil
	}
	f.read, f.size = info.ModTime(), info.Size()
	data, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("read the scenario: %w", err)
	}
	sc, err := ParseScenario(data)
	if err != nil {
		return fmt.Errorf("read the scenario %s: %w", f.path, err)
	}
	s.scenario.Store(sc)
	return nil
}
