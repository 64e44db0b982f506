/** The chapters of the manual for whoever runs a server: backups. */

export function backupsChapter(): readonly string[] {
  return [
    "## Backups",
    "",
    "`larder backup <file>` writes everything in the data directory to one file (mode 0600), whether or not a server runs on it. A server goes on serving: it closes the segments that it writes, links them into a directory `backup-…` inside the data directory, and the command makes the file of those links. Everything that was acknowledged before the command is in the file, transactions as a whole; each area is at a moment of its own. The file has its name when it is whole and on the disk, and replaces one of the same name. What a backup that was killed left behind is removed by the next backup or start.",
    "",
    "**The file holds secrets**: the tokens and signing keys of `tokens.json`, and everything that users sent. Keep it as private as the data directory. Tokens that the environment or the configuration file gives are not in it; keep those, and the configuration file, yourself.",
    "",
    "In it are the snapshots and journals of all areas, the log of messages, the graphs of large vector indexes, `tokens.json`, and `manifest.json` with the version, the position of each area, and the length and SHA-256 of each file. It is a tar archive: `tar tf` lists it. The audit log is not in it.",
    "",
    "`larder verify <file>` compares all sums and reads each area as a start would; it says how much is in them, or names the file and the byte that is damaged, and exits with 1. It also takes a data directory that nobody uses.",
    "",
    "`larder restore <file> --data-dir <directory>` verifies a backup and makes a data directory of it, which must be new or empty (a mounted volume may be). Nothing has its place before all of it was read, and a start refuses a directory in which a restore did not end. A restored server delivers what was due since the backup was made, and may repeat what the old one delivered after it: stop the old one first.",
    "",
    "`POST /v1/backup` on the admin port makes the directory of links alone and names it; it is kept for a minute at least, and removed by the next backup or start.",
  ];
}
