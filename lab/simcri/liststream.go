package simcri

import (
	"slices"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// atOnce is how many items each message of a streamed list has.
const atOnce = 256

// inPieces sends a list in messages of some items each.
func inPieces[T, M any](all []T, stream grpc.ServerStreamingServer[M], message func([]T) *M) error {
	for piece := range slices.Chunk(all, atOnce) {
		if err := stream.Send(message(piece)); err != nil {
			return err
		}
	}
	return nil
}

// StreamPodSandboxes is ListPodSandbox as a stream.
func (s *Server) StreamPodSandboxes(r *runtimeapi.StreamPodSandboxesRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxesResponse]) error {
	return inPieces(s.listSandboxes(r.GetFilter()), stream, func(p []*runtimeapi.PodSandbox) *runtimeapi.StreamPodSandboxesResponse {
		return &runtimeapi.StreamPodSandboxesResponse{PodSandboxes: p}
	})
}

// StreamContainers is ListContainers as a stream.
func (s *Server) StreamContainers(r *runtimeapi.StreamContainersRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamContainersResponse]) error {
	return inPieces(s.listContainers(r.GetFilter()), stream, func(p []*runtimeapi.Container) *runtimeapi.StreamContainersResponse {
		return &runtimeapi.StreamContainersResponse{Containers: p}
	})
}

// StreamContainerStats is ListContainerStats as a stream.
func (s *Server) StreamContainerStats(r *runtimeapi.StreamContainerStatsRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamContainerStatsResponse]) error {
	return inPieces(s.listStats(r.GetFilter()), stream, func(p []*runtimeapi.ContainerStats) *runtimeapi.StreamContainerStatsResponse {
		return &runtimeapi.StreamContainerStatsResponse{ContainerStats: p}
	})
}

// StreamPodSandboxStats is ListPodSandboxStats as a stream.
func (s *Server) StreamPodSandboxStats(r *runtimeapi.StreamPodSandboxStatsRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxStatsResponse]) error {
	return inPieces(s.listPodStats(r.GetFilter()), stream, func(p []*runtimeapi.PodSandboxStats) *runtimeapi.StreamPodSandboxStatsResponse {
		return &runtimeapi.StreamPodSandboxStatsResponse{PodSandboxStats: p}
	})
}

// StreamPodSandboxMetrics is ListPodSandboxMetrics as a stream.
func (s *Server) StreamPodSandboxMetrics(_ *runtimeapi.StreamPodSandboxMetricsRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamPodSandboxMetricsResponse]) error {
	return inPieces(s.podMetrics(), stream, func(p []*runtimeapi.PodSandboxMetrics) *runtimeapi.StreamPodSandboxMetricsResponse {
		return &runtimeapi.StreamPodSandboxMetricsResponse{PodSandboxMetrics: p}
	})
}

// StreamImages is ListImages as a stream.
func (s *Server) StreamImages(r *runtimeapi.StreamImagesRequest, stream grpc.ServerStreamingServer[runtimeapi.StreamImagesResponse]) error {
	return inPieces(s.listImages(r.GetFilter()), stream, func(p []*runtimeapi.Image) *runtimeapi.StreamImagesResponse {
		return &runtimeapi.StreamImagesResponse{Images: p}
	})
}
