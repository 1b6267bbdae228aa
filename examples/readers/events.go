// Reads lifecycle events from NATS JetStream with nothing but the standard library.
//
//	go run examples/readers/events.go -count 10 nats://127.0.0.1:4222
//
// Prints one JSON object a line: what is stored, then what comes. Where the client of NATS for Go is at hand, an ordered
// consumer of it does the same in ten lines; what stays is the order of each session.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	stream = "SWM_EVT"
	batch  = 100
)

// connection speaks the part of the NATS protocol that a reader needs.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
	inbox  string
}

// message is one that arrived.
type message struct {
	reply   string
	headers string
	body    []byte
}

// event is what this reader looks at; events say more.
type event struct {
	V       int    `json:"v"`
	Session string `json:"session"`
	Seq     int    `json:"seq"`
	Prev    int    `json:"prev"`
	Type    string `json:"type"`
}

func token() string {
	bytes := make([]byte, 8)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}

func dial(address string) (*connection, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	port := parsed.Port()
	if port == "" {
		port = "4222"
	}
	socket, err := net.DialTimeout("tcp", net.JoinHostPort(parsed.Hostname(), port), 10*time.Second)
	if err != nil {
		return nil, err
	}
	c := &connection{socket: socket, reader: bufio.NewReader(socket), inbox: "_INBOX"}
	info, err := c.line()
	if err != nil || !strings.HasPrefix(info, "INFO ") {
		return nil, errors.New("this is no NATS server")
	}
	options := map[string]any{"verbose": false, "pedantic": false, "headers": true, "name": "events.go", "lang": "go"}
	if user := parsed.User.Username(); user != "" {
		options["user"] = user
		options["pass"], _ = parsed.User.Password()
		// Users of nats.conf may listen for answers below their own name only.
		c.inbox = "_INBOX_" + user
	}
	c.inbox += "." + token()
	connect, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintf(c.socket, "CONNECT %s\r\nPING\r\n", connect); err != nil {
		return nil, err
	}
	for {
		line, err := c.line()
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(line, "-ERR") {
			return nil, errors.New(line)
		}
		if line == "PONG" {
			break
		}
	}
	_, err = fmt.Fprintf(c.socket, "SUB %s.> 1\r\n", c.inbox)
	return c, err
}

func (c *connection) line() (string, error) {
	line, err := c.reader.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func (c *connection) publish(subject, reply string, body any) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.socket, "PUB %s %s %d\r\n%s\r\n", subject, reply, len(payload), payload)
	return err
}

// next waits for the next message.
func (c *connection) next() (message, error) {
	for {
		line, err := c.line()
		if err != nil {
			return message{}, err
		}
		words := strings.Split(line, " ")
		switch words[0] {
		case "PING":
			if _, err := io.WriteString(c.socket, "PONG\r\n"); err != nil {
				return message{}, err
			}
		case "-ERR":
			return message{}, errors.New(line)
		case "MSG", "HMSG":
			return c.body(words)
		}
	}
}

// body reads what follows a line MSG subject sid [reply] size, or HMSG with the size of its headers before that.
func (c *connection) body(words []string) (message, error) {
	head, sizes := 0, 1
	if words[0] == "HMSG" {
		sizes = 2
		head, _ = strconv.Atoi(words[len(words)-2])
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return message{}, err
	}
	data := make([]byte, size+2)
	if _, err := io.ReadFull(c.reader, data); err != nil {
		return message{}, err
	}
	reply := ""
	if len(words) == 4+sizes {
		reply = words[3]
	}
	return message{reply: reply, headers: string(data[:head]), body: data[head:size]}, nil
}

// read hands every message below a subject to take, from the beginning and without end, until take says false.
func (c *connection) read(subject string, take func(sequence int, body []byte) bool) error {
	name := token()
	config := map[string]any{
		"name": name, "filter_subject": subject, "deliver_policy": "all", "ack_policy": "none",
		"mem_storage": true, "num_replicas": 1, "inactive_threshold": 300 * time.Second,
	}
	create := "$JS.API.CONSUMER.CREATE." + stream + "." + name + "." + subject
	request := map[string]any{"stream_name": stream, "config": config}
	if err := c.publish(create, c.inbox+".made", request); err != nil {
		return err
	}
	made, err := c.next()
	if err != nil {
		return err
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(made.body, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New(answer.Error.Description)
	}
	fetch := "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + name
	for fetches := 1; ; fetches++ {
		wanted := map[string]any{"batch": batch, "expires": 30 * time.Second}
		if err := c.publish(fetch, fmt.Sprintf("%s.%d", c.inbox, fetches), wanted); err != nil {
			return err
		}
		for got := 0; got < batch; got++ {
			m, err := c.next()
			if err != nil {
				return err
			}
			// A status instead of a message: this fetch is over.
			if len(m.body) == 0 && strings.HasPrefix(m.headers, "NATS/1.0 ") {
				break
			}
			// $JS.ACK.<stream>.<consumer>.<delivered>.<sequence of the stream>...
			parts := strings.Split(m.reply, ".")
			if len(parts) < 9 {
				return errors.New("a message without its place: " + m.reply)
			}
			sequence, err := strconv.Atoi(parts[len(parts)-4])
			if err != nil {
				return err
			}
			if !take(sequence, m.body) {
				return nil
			}
		}
	}
}

func run() error {
	ns := flag.String("ns", "default", "tenant or environment")
	count := flag.Int("count", 0, "end after so many; 0 = never")
	flag.Parse()
	c, err := dial(flag.Arg(0))
	if err != nil {
		return err
	}
	defer c.socket.Close()
	last := map[string]int{}
	shown := 0
	return c.read("swm.v1."+*ns+".evt.>", func(sequence int, body []byte) bool {
		var e event
		// An envelope of another version says things this reader does not know.
		if json.Unmarshal(body, &e) != nil || e.V != 1 || e.Seq <= last[e.Session] {
			return true
		}
		if before, known := last[e.Session]; known && e.Prev > before {
			fmt.Fprintf(os.Stderr, "gap in %s: %d to %d\n", e.Session, before, e.Seq)
		}
		last[e.Session] = e.Seq
		line, _ := json.Marshal(map[string]any{
			"sequence": sequence, "session": e.Session, "seq": e.Seq, "type": e.Type,
		})
		fmt.Println(string(line))
		shown++
		return shown != *count
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
