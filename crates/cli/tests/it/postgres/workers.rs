//! Served engines that share a folder and a database, and what is asked of them over HTTP.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::database::Database;
use crate::support::{Answered, Bed, Folder, PATIENCE, Ran, Server, configuration, ended};

/// Engines on one database.
pub(crate) struct Workers {
    folder: Folder,
    servers: Vec<Option<Server>>,
    /// Which program each of them is.
    programs: Vec<Program>,
}

/// A program, with what it finds in its environment.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

impl Program {
    /// The one that was built with the tests.
    pub(crate) fn this() -> Self {
        Self {
            path: PathBuf::from(env!("CARGO_BIN_EXE_factum")),
            variables: &[],
        }
    }
}

/// A submission to the testbed, counted there by its key.
pub(crate) fn payload(operation: &str, key: &str) -> Value {
    json!({"destination": "bed", "operation": operation, "key": key, "payload": {"business": key}})
}

impl Workers {
    /// Starts so many.
    pub(crate) fn start(database: &Database, bed: &Bed, count: usize) -> Self {
        Self::at(&database.url, bed, count)
    }

    /// The same, at an address that is no test's own.
    pub(crate) fn at(url: &str, bed: &Bed, count: usize) -> Self {
        Self::with(&format!("url = \"{url}\"\n"), bed, count)
    }

    /// The same, with these members of `[store]`.
    pub(crate) fn with(store: &str, bed: &Bed, count: usize) -> Self {
        let folder = Folder::new();
        let store = format!("[store]\nfolder = \"shared\"\nconnections = 6\n{store}");
        folder.write(
            "factum.toml",
            &format!("{store}{}", configuration(&bed.base)),
        );
        let mut workers = Self {
            folder,
            servers: Vec::new(),
            programs: Vec::new(),
        };
        for _ in 0..count {
            workers.join(Program::this());
        }
        workers
    }

    /// One more.
    pub(crate) fn join(&mut self, program: Program) {
        self.programs.push(program);
        self.servers.push(None);
        self.start_again(self.servers.len() - 1);
    }

    /// Takes the first ones away, which ended.
    pub(crate) fn leave_only(&mut self, count: usize) {
        let gone = self.servers.len() - count;
        assert!(self.servers.drain(..gone).all(|server| server.is_none()));
        self.programs.drain(..gone);
    }

    /// A command in their folder, which opens the store itself, to its end.
    pub(crate) fn run_as(&self, variables: &[(&str, &str)], words: &[&str]) -> Ran {
        let mut command = self.folder.command(words);
        command.envs(variables.iter().copied());
        ended(command)
    }

    /// The same by another program, where it has to fail: its exit code and the problem.
    pub(crate) fn refused(&self, program: &Path, words: &[&str]) -> (i32, Value) {
        self.folder.refused_by(program, words)
    }

    fn server(&self, no: usize) -> Option<&Server> {
        self.servers[no].as_ref()
    }

    /// Ends one, as a power cut would.
    pub(crate) fn kill(&mut self, no: usize) {
        if let Some(server) = self.servers[no].take() {
            server.child.kill();
        }
    }

    /// Ends one, and starts it again.
    pub(crate) fn kill_and_start(&mut self, no: usize) {
        self.kill(no);
        self.start_again(no);
    }

    /// Asks one to end.
    pub(crate) fn stop(&mut self, no: usize) {
        if let Some(mut server) = self.servers[no].take() {
            server.child.terminate();
            // What cannot end in time is broken off, and said so; that is no failure here.
            server.child.ended();
        }
    }

    /// Starts one that ended.
    pub(crate) fn start_again(&mut self, no: usize) {
        let Program { path, variables } = &self.programs[no];
        self.servers[no] = Some(self.folder.serve_by(path, variables));
    }

    /// Asks one to end, and starts it again.
    pub(crate) fn stop_and_start(&mut self, no: usize) {
        self.stop(no);
        self.start_again(no);
    }

    /// Stops one, or lets it go on.
    pub(crate) fn signal(&self, no: usize, signal: Signal) {
        let server = self.server(no).unwrap();
        let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Runs a command on the store itself, and not by a worker; its value.
    pub(crate) fn here(&self, words: &[&str]) -> Value {
        self.folder.json(words)
    }

    /// Submits at one, and at the next ones where it does not answer: the action's id, if anybody answered with 2xx.
    pub(crate) fn submit(&self, first: usize, operation: &str, key: &str) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            for step in 0..self.servers.len() {
                let no = (first + step) % self.servers.len();
                let body = payload(operation, key);
                match self.ask(no, "POST", "/v1/actions", &body) {
                    Some(answer) if answer.status < 300 => {
                        return Some(answer.body["id"].as_str().unwrap().to_owned());
                    }
                    Some(answer) => assert!(
                        matches!(answer.status, 429 | 503),
                        "{operation} {key}: {answer:?}"
                    ),
                    None => {}
                }
            }
        }
        None
    }

    /// An action's status once nothing more happens by itself.
    pub(crate) fn at_rest(&self, no: usize, id: &str) -> Value {
        let path = format!("/v1/actions/{id}?wait=5");
        let rested = self.until(no, "GET", &path, |answer| {
            matches!(answer.body["next"]["do"].as_str(), Some("none" | "review"))
        });
        rested.body
    }

    /// Asks until the answer is this one.
    pub(crate) fn until(
        &self,
        no: usize,
        method: &str,
        path: &str,
        wanted: impl Fn(&Answered) -> bool,
    ) -> Answered {
        let deadline = Instant::now() + PATIENCE * 2;
        loop {
            let answer = self.ask(no, method, path, &Value::Null);
            match answer {
                Some(answer) if wanted(&answer) => return answer,
                answer => assert!(Instant::now() < deadline, "it never came: {answer:?}"),
            }
        }
    }

    /// The command line, talking to one of them: what it printed as JSON.
    pub(crate) fn command(&self, no: usize, words: &[&str]) -> Value {
        let server = self.server(no).unwrap();
        let mut command = self.folder.command(words);
        command
            .arg("--json")
            .env("FACTUM_URL", &server.address)
            .env("FACTUM_TOKEN", server.token());
        let ran = ended(command);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        ran.json()
    }

    /// One request; none where no whole answer came.
    pub(crate) fn ask(
        &self,
        no: usize,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Option<Answered> {
        self.server(no)?.ask(method, path, body)
    }
}
