package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A server is a running server of the reference.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(ctx context.Context, command []string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *server) stop() {
	s.in.Close()
	s.cmd.Wait()
}

// ask sends a header line and its files, and decodes the response into answer.
func (s *server) ask(header, answer any, files ...[]byte) error {
	line, err := json.Marshal(header)
	if err != nil {
		return err
	}
	request := bytes.Join(append([][]byte{line, {'\n'}}, files...), nil)
	if _, err := s.in.Write(request); err != nil {
		return err
	}
	reply, err := s.out.ReadBytes('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	// Invalid UTF-8 is a different response, not an error.
	return json.Unmarshal(reply, answer, jsontext.AllowInvalidUTF8(true))
}
