/** The chapters of the manual for whoever runs a server: encryption, disks, audit, backups. */

export function encryptionChapter(): readonly string[] {
  return [
    "## HTTPS",
    "",
    "`--tls-cert` and `--tls-key` make the ports of the areas (or `--port`) speak HTTPS, TLS 1.2 or newer, and nothing else; the addresses that are printed begin with `https://`. The certificate must have the name or address by which clients call the server. Clients of a certificate that no public authority signed are told of it by `NODE_EXTRA_CA_CERTS=/path/to/cert.pem`, which the official clients obey.",
    "",
    "The admin port speaks HTTPS as well where `--admin-host` is an address that other machines may reach. On a loopback address it stays in the clear: nobody can listen in there, and health checks, Prometheus and our own commands need no certificate. The RESP port has a certificate of its own (`--resp-tls-cert`), which may be the same file.",
    "",
    "The files are looked at every five seconds. A pair that has changed and belongs together is shown to connections from then on, and those that are open go on; anything else, an empty file too, is logged, and the pair before stays in force. A certificate that has expired or is not valid yet is used, and the log warns of it, also at the moment when it expires; `larder_certificate_expiry_timestamp_seconds` is the end of each. So renewing a certificate needs no restart and no signal: SIGHUP stops the server.",
  ];
}

export function auditChapter(): readonly string[] {
  return [
    "## The audit log",
    "",
    "`audit.log` in the data directory (mode 0600) gets a line of JSON for each change through the admin port, for `token reset`, `backup` and `restore` of the command line, and for each start and stop: `time`, `action` (`databases.create`, `users.reset-password`, `backup`, `start`, …), `subject` (the tenant), `caller` (an address, `command line` or `server`), `outcome` (`done`, `refused`, `failed`) and `reason`. It never holds a token, and says nothing of callers that do not have the admin token. A line is on the disk before the change is answered. A server without a data directory has none.",
    "",
    "The file is opened for each line: to rotate it, rename it. Nothing is ever removed from it by us.",
  ];
}

export function diskChapter(): readonly string[] {
  return [
    "## When the disk is full",
    "",
    "Writes are refused before they change anything, with an error of each area that says why; reads go on, `/health/ready` answers 503 with the reason, and all of it ends by itself once there is space. Nothing that was acknowledged is lost. `--min-free-disk 1gb` does the same while less than that is left, so that snapshots, backups and other programs still have room; writes are accepted again when a sixteenth more is free.",
    "",
    "`larder_directory_bytes` is what each area takes, `larder_disk_free_bytes` what is left, `larder_journal_refusing` is 1 while writes are refused.",
  ];
}

export function backupsChapter(): readonly string[] {
  return [
    "## Backups",
    "",
    "`larder backup <file>` writes everything in the data directory to one file (mode 0600), whether or not a server runs on it. A server goes on serving: it closes the segments that it writes, links them into a directory `backup-…` inside the data directory, and the command makes the file of those links. Everything that was acknowledged before the command is in the file, transactions as a whole; each area is at a moment of its own. The file has its name when it is whole and on the disk, and replaces one of the same name only with `--replace`. `-` is the standard output; a pipe or a device is written to as it is. What a backup that was killed left behind is removed by the next backup or start.",
    "",
    "**The file holds secrets**: the tokens and signing keys of `tokens.json`, and everything that users sent. Keep it as private as the data directory. Tokens that the environment or the configuration file gives are not in it; keep those, and the configuration file, yourself.",
    "",
    "In it are the snapshots and journals of all areas, the log of messages, the graphs of large vector indexes, `tokens.json`, and `manifest.json` with the version, the position of each area, and the length and SHA-256 of each file. It is a tar archive: `tar tf` lists it. The audit log is not in it.",
    "",
    "`larder verify <file>` compares all sums and reads each area as a start would; it says how much is in them, or names the file and the byte that is damaged, and exits with 1. Journal files of messaging that a start does not read, because only bodies lie in them, are checked as well; for that it needs about as much memory as messaging does. It also takes a data directory that nobody uses.",
    "",
    "`larder restore <file> --data-dir <directory>` verifies a backup and makes a data directory of it, which must be new or empty (a mounted volume may be). Nothing has its place before all of it was read, and a start refuses a directory in which a restore did not end. A restored server delivers what was due since the backup was made, and may repeat what the old one delivered after it: stop the old one first.",
    "",
    "`POST /v1/backup` on the admin port makes the directory of links alone and names it; it is kept for a minute at least, and removed by the next backup or start.",
  ];
}
