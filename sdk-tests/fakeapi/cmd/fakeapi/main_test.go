package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the command too, so that the race detector sees it.
func TestMain(m *testing.M) {
	if os.Getenv("FAKEAPI_TEST_RUN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "FAKEAPI_TEST_RUN=1")
	return cmd
}

func TestServesUntilStdinCloses(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	cmd := command("-log", log)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(strings.TrimSpace(url)+"/v1/messages", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("status %d", res.StatusCode)
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if data, err := os.ReadFile(log); err != nil || !strings.Contains(string(data), "/v1/messages") {
		t.Errorf("log %q, %v", data, err)
	}
}

func TestABadScriptIsRefused(t *testing.T) {
	out, err := command("-script", "none.json").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "none.json") {
		t.Errorf("%v: %s", err, out)
	}
}
