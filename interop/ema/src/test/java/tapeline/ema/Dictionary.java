package tapeline.ema;

import com.refinitiv.ema.access.ElementList;
import com.refinitiv.ema.access.EmaFactory;
import com.refinitiv.ema.rdm.DataDictionary;
import java.nio.file.Files;
import java.nio.file.Path;

/** The dictionary of this project, from its files: what every download must be equal to. */
final class Dictionary {
    private Dictionary() {}

    private static Path file(String name) {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            Path file = at.resolve("crates/omm/dictionary").resolve(name);
            if (Files.exists(file)) {
                return file;
            }
        }
        throw new IllegalStateException("no crates/omm/dictionary/" + name + " above " + Path.of("").toAbsolutePath());
    }

    static Path fields() {
        return file("tapeline.fields");
    }

    static Path enums() {
        return file("tapeline.enums");
    }

    static DataDictionary load() {
        DataDictionary dictionary = EmaFactory.createDataDictionary();
        dictionary.loadFieldDictionary(fields().toString());
        dictionary.loadEnumTypeDictionary(enums().toString());
        return dictionary;
    }

    /** For a provider that decodes posts with it. */
    static ElementList settings() {
        return Settings.elements(
                "DictionaryType", "DictionaryType::FileDictionary",
                "RdmFieldDictionaryItemName", "RWFFld",
                "EnumTypeDefItemName", "RWFEnum",
                "RdmFieldDictionaryFileName", fields().toString(),
                "EnumTypeDefFileName", enums().toString());
    }
}
