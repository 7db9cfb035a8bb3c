package simcri

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// image is an image that the node has. Only its names ever change.
type image struct {
	id      string // sha256:, of the configuration
	size    int64
	uid     int64
	user    string // a name; empty if the user is a number
	command []string
	pinned  bool
	tags    []string // full names, sorted
	digests []string
}

// name returns the name by which the image is known best.
func (i *image) name() string {
	return cmp.Or(append(slices.Clone(i.tags), append(i.digests, i.id)...)...)
}

// ref returns the reference by which the kubelet knows the image: its first digest.
func (i *image) ref() string { return cmp.Or(append(slices.Clone(i.digests), i.id)...) }

func (i *image) spec() *runtimeapi.Image {
	m := &runtimeapi.Image{Id: i.id, RepoTags: i.tags, RepoDigests: i.digests, Size: uint64(i.size), Username: i.user, Pinned: i.pinned,
		Spec: &runtimeapi.ImageSpec{Image: i.id}}
	if i.user == "" {
		m.Uid = &runtimeapi.Int64Value{Value: i.uid}
	}
	return m
}

// known are images that people use in examples, with their packed size, and the command that they run if their
// container has none.
var known = map[string]struct {
	size    int64
	command []string
}{
	"docker.io/library/busybox":     {2_160_000, []string{"sh"}},
	"docker.io/library/alpine":      {3_640_000, []string{"/bin/sh"}},
	"docker.io/library/debian":      {48_500_000, []string{"bash"}},
	"docker.io/library/ubuntu":      {29_700_000, []string{"/bin/bash"}},
	"docker.io/library/nginx":       {72_300_000, []string{"nginx", "-g", "daemon off;"}},
	"docker.io/library/httpd":       {58_900_000, []string{"httpd-foreground"}},
	"docker.io/library/redis":       {45_100_000, []string{"redis-server"}},
	"docker.io/library/postgres":    {155_000_000, []string{"postgres"}},
	"docker.io/library/hello-world": {10_100, []string{"echo", "Hello from a simulated container!"}},
	"registry.k8s.io/pause":         {320_000, []string{"/pause"}},
}

const pauseImage = "registry.k8s.io/pause:3.10.1"

// nowhere is in the names of images that no registry has.
const nowhere = "no-such"

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// newImage returns the image that a registry would have under that name.
func (sc *Scenario) newImage(name reference.Named) *image {
	repo := name.Name()
	full := name.String()
	i := &image{command: []string{baseName(repo)}, size: 5_000_000 + int64(len(repo))*1_000_003}
	if k, ok := known[repo]; ok {
		i.size, i.command = k.size, k.command
	}
	content := full
	for _, r := range sc.Images {
		if match(r.Name, full) {
			i.size = cmp.Or(r.Size, i.size)
			i.setUser(r.User)
			content = cmp.Or(r.Content, content)
		}
	}
	manifest := hash("manifest", content)
	if d, ok := name.(reference.Digested); ok {
		manifest = d.Digest().String()
	}
	if _, tagged := name.(reference.Tagged); tagged {
		i.tags = []string{full}
	}
	i.digests = []string{repo + "@" + manifest}
	i.id = hash("config", manifest)
	return i
}

func (i *image) setUser(user string) {
	if uid, err := strconv.ParseInt(user, 10, 64); err == nil {
		i.uid = uid
	} else if user != "" {
		i.user = user
	}
}

func baseName(repo string) string { return repo[strings.LastIndexByte(repo, '/')+1:] }

// parseRef returns the full name for a name that a person writes.
func parseRef(text string) (reference.Named, error) {
	name, err := reference.ParseDockerRef(text)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "failed to parse image reference %q: %v", text, err)
	}
	return name, nil
}

func (s *Server) addPauseImage() {
	name, err := parseRef(pauseImage)
	if err != nil {
		panic(err) // the name is a constant of ours
	}
	i := s.scenario.Load().newImage(name)
	i.pinned = true
	s.images[i.id] = i
}

// addImage puts a pulled image among the others. s.mu is held.
func (s *Server) addImage(i *image) *image {
	old := s.images[i.id]
	if old == nil {
		s.images[i.id] = i
		return i
	}
	merged := *old // an image that was returned does not change
	merged.tags = union(old.tags, i.tags)
	merged.digests = union(old.digests, i.digests)
	s.images[i.id] = &merged
	return &merged
}

func union(a, b []string) []string {
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	return slices.Compact(all)
}

// imageByRef finds an image by id, by name or by digest. s.mu is held.
func (s *Server) imageByRef(ref string) *image {
	id := ref
	if !strings.HasPrefix(ref, "sha256:") {
		id = "sha256:" + ref
	}
	if i := s.images[id]; i != nil {
		return i
	}
	name, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil
	}
	full := name.String()
	for _, i := range s.images {
		if slices.Contains(i.tags, full) || slices.Contains(i.digests, full) {
			return i
		}
	}
	return nil
}

func (s *Server) listImages(f *runtimeapi.ImageFilter) []*runtimeapi.Image {
	s.mu.Lock()
	defer s.mu.Unlock()
	var only *image
	if ref := f.GetImage().GetImage(); ref != "" {
		if only = s.imageByRef(ref); only == nil {
			return nil
		}
	}
	var all []*runtimeapi.Image
	for _, i := range s.images {
		if only == nil || i == only {
			all = append(all, i.spec())
		}
	}
	slices.SortFunc(all, func(a, b *runtimeapi.Image) int { return cmp.Compare(a.Id, b.Id) })
	return all
}

// ListImages lists the pulled images.
func (s *Server) ListImages(_ context.Context, r *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{Images: s.listImages(r.GetFilter())}, nil
}

// ImageStatus reports an image. An image that does not exist is no error. A pod whose annotations make its pull fail
// does not see images that other pods have pulled.
func (s *Server) ImageStatus(_ context.Context, r *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	spec := r.GetImage()
	b, err := s.scenario.Load().behaviourOf(podName{}, "", spec.GetImage(), spec.GetAnnotations())
	hidden := err == nil && b.pull != "" && b.pullTimes == 0 && b.aboutImage(spec.GetImage())
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.imageByRef(spec.GetImage())
	if i == nil || hidden {
		return &runtimeapi.ImageStatusResponse{}, nil
	}
	answer := &runtimeapi.ImageStatusResponse{Image: i.spec()}
	if r.GetVerbose() {
		answer.Info = info(map[string]any{"command": i.command})
	}
	return answer, nil
}

// RemoveImage removes an image with all its names. It is idempotent.
func (s *Server) RemoveImage(_ context.Context, r *runtimeapi.RemoveImageRequest) (*runtimeapi.RemoveImageResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.imageByRef(r.GetImage().GetImage()); i != nil {
		delete(s.images, i.id)
	}
	return &runtimeapi.RemoveImageResponse{}, nil
}

// ImageFsInfo reports how much the images take up.
func (s *Server) ImageFsInfo(context.Context, *runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	s.mu.Lock()
	var images uint64
	for _, i := range s.images {
		images += uint64(i.size)
	}
	inodes := uint64(len(s.images))
	s.mu.Unlock()
	containers, entries := usage(s.containerDir(""))
	dir := s.imageDir()
	return &runtimeapi.ImageFsInfoResponse{
		ImageFilesystems:     []*runtimeapi.FilesystemUsage{filesystem(dir, images, inodes)},
		ContainerFilesystems: []*runtimeapi.FilesystemUsage{filesystem(dir, containers, entries)},
	}, nil
}

func filesystem(mountpoint string, bytes, inodes uint64) *runtimeapi.FilesystemUsage {
	return &runtimeapi.FilesystemUsage{
		Timestamp: time.Now().UnixNano(), FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: mountpoint},
		UsedBytes: &runtimeapi.UInt64Value{Value: bytes}, InodesUsed: &runtimeapi.UInt64Value{Value: inodes},
	}
}

// usage counts the bytes and entries below a directory, which need not exist.
func usage(dir string) (bytes, entries uint64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it was removed meanwhile
		}
		entries++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return bytes, entries
}

// commandOf returns the command that a container runs: its own, or the image's. All images known here have their
// program in the command, not in an entrypoint.
func commandOf(c *runtimeapi.ContainerConfig, i *image) []string {
	if len(c.GetCommand()) > 0 {
		return append(slices.Clone(c.GetCommand()), c.GetArgs()...)
	}
	if len(c.GetArgs()) > 0 {
		return c.GetArgs()
	}
	return i.command
}
